// Something that is fetched when it is opened, and again when its version changes. The old one stays until then.
import { get } from "./doing.js";
import { Component, html } from "./dom.js";

const AGAIN = 1000; // in ms: at most so often

export class Fetched extends Component {
  constructor(props) {
    super(props);
    this.state = { data: null, error: null };
  }

  componentDidMount() {
    this.fetch();
  }

  componentDidUpdate(before) {
    if (before.path !== this.props.path) {
      this.setState({ data: null, error: null });
      this.fetch();
    } else if (before.version !== this.props.version) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.fetch(), AGAIN);
    }
  }

  componentWillUnmount() {
    this.isGone = true;
    clearTimeout(this.timer);
  }

  async fetch() {
    const { path } = this.props;
    const settle = (state, then) => !this.isGone && path === this.props.path && this.setState(state, then);
    try {
      settle({ data: await get(path), error: null }, () => dispatchEvent(new Event("shown")));
    } catch (error) {
      settle({ error });
    }
  }

  render({ children }, { data, error }) {
    const show = Array.isArray(children) ? children[0] : children;
    return html`
      ${error ? html`<p role="alert" class="error"><bdi>${error.message}</bdi> <bdi>${error.hint ?? ""}</bdi></p>` : null}
      ${data ? show(data) : error ? null : html`<p class="empty">Reading …</p>`}
    `;
  }
}
