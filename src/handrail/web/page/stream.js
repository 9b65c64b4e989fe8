// Follows topics: first what there is, then a stream of changes. After an interruption it goes on from its own cursor.
import { get } from "./doing.js";
import { Received } from "./rows.js";

const AGAIN = 1000;
const POLL = 2000;

export class Stream {
  // `shown` are the topics that the page shows, also if it follows fewer. `old` is the stream before this one: what it
  // has of the same topics is not asked for again.
  constructor(topics, onChange, { shown = topics, isPolling = false, old = null } = {}) {
    this.topics = topics;
    this.onChange = onChange;
    this.isPolling = isPolling;
    this.received = new Map([...topics, ...shown].map((topic) => [topic, old?.of(topic) ?? new Received()]));
    this.lives = new Map(old?.lives);
    this.isLive = old?.isLive ?? false;
    this.lostAt = null;
    this.refused = null; // what the server said when it would not answer
    this.missing = null; // the same, if what the page shows does not exist
    this.offset = old?.offset ?? 0; // how far the server's clock is ahead of ours, in seconds
    this.fetch();
  }

  get since() {
    return this.topics.map((topic) => [topic, this.of(topic).cursor]).filter(([, cursor]) => cursor)
      .map(([topic, cursor]) => `${topic}=${cursor}`).join(",");
  }

  get address() {
    return `/api/changes?${new URLSearchParams({ topics: this.topics.join(","), since: this.since })}`;
  }

  // One answer, then the stream, or the same again after a while.
  async fetch() {
    clearTimeout(this.timer);
    try {
      const messages = await get(this.address);
      if (this.isClosed) return;
      this.refused = this.missing;
      messages.forEach((message) => this.take(message));
      this.setLive(true);
      if (this.isPolling) this.later(POLL);
      else if (!this.source) this.open();
    } catch (error) {
      if (this.isClosed) return;
      if (error.status === 404 && this.topics.length > 1) return this.miss(error);
      this.refused = error.status && error.status !== 503 ? error : null;
      this.setLive(false);
      if (![400, 404].includes(error.status)) this.later(this.isPolling ? POLL : AGAIN);
    }
  }

  // What the page shows does not exist, or not any more. Home is still followed.
  miss(error) {
    this.missing = this.refused = error;
    this.topics = ["home"];
    this.onChange();
    return this.reopen();
  }

  later(time) {
    this.timer = setTimeout(() => this.fetch(), time);
  }

  open() {
    this.source = new EventSource(this.address);
    this.source.addEventListener("rows", (event) => this.take(JSON.parse(event.data)));
    this.source.addEventListener("bye", () => this.reopen());
    this.source.addEventListener("error", () => {
      // Too many streams are open: ask now and then instead.
      if (this.source?.readyState === EventSource.CLOSED && this.isLive) this.isPolling = true;
      this.reopen();
    });
    this.source.addEventListener("gone", (event) => {
      this.miss({ status: 404, ...JSON.parse(event.data) });
    });
  }

  reopen() {
    this.source?.close();
    this.source = null;
    if (!this.isClosed) this.fetch();
  }

  poll(isPolling) {
    if (this.isPolling === isPolling || this.isClosed) return;
    this.isPolling = isPolling;
    this.reopen();
  }

  setLive(isLive) {
    if (this.isLive && !isLive) this.lostAt = new Date();
    this.isLive = isLive;
    this.onChange();
  }

  take(message) {
    this.offset = message.now - Date.now() / 1000;
    this.lives.set(message.topic, message.live);
    if (!this.of(message.topic).take(message)) {
      this.received.set(message.topic, new Received());
      if (this.source) this.reopen();
    }
    this.onChange();
  }

  now() {
    return Date.now() / 1000 + this.offset;
  }

  liveOf(topic) {
    return this.lives.get(topic);
  }

  of(topic) {
    return this.received.get(topic);
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }
}
