// Follows topics. Reconnects by itself: the browser sends the last cursor again.
import { Received } from "./rows.js";

export class Stream {
  constructor(topics, onChange) {
    this.topics = topics;
    this.onChange = onChange;
    this.received = new Map(topics.map((topic) => [topic, new Received()]));
    this.lives = new Map();
    this.isLive = false;
    this.lostAt = null;
    this.offset = 0; // how far the server's clock is ahead of ours, in seconds
    this.open();
  }

  open() {
    const query = new URLSearchParams({ topics: this.topics.join(",") });
    this.source = new EventSource(`/api/stream?${query}`);
    this.source.addEventListener("open", () => this.live(true));
    this.source.addEventListener("error", () => this.live(false));
    this.source.addEventListener("rows", (event) => this.take(JSON.parse(event.data)));
    this.source.addEventListener("gone", (event) => {
      this.gone = JSON.parse(event.data);
      this.close();
      this.onChange();
    });
  }

  live(isLive) {
    if (this.isLive && !isLive) this.lostAt = new Date();
    this.isLive = isLive;
    this.onChange();
  }

  take(message) {
    this.offset = message.now - Date.now() / 1000;
    this.lives.set(message.topic, message.live);
    if (!this.received.get(message.topic).take(message)) {
      this.close();
      this.received.set(message.topic, new Received());
      this.open();
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
    this.source.close();
  }
}
