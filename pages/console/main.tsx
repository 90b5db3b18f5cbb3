// The console.

import "../design/tokens.css";
import "./style/tokens.css";
import "./style/frame.css";
import "./style/controls.css";
import "./style/tables.css";
import "./style/shown.css";
import "./style/dialogs.css";
import "./style/pages.css";
import "./style/run.css";
import "./style/things.css";
import "./style/small.css";

import { render } from "preact";

import { App } from "./app";
import { followLinks } from "./lib/address";
import { readEarly } from "./lib/call";
import { handleKeys } from "./lib/keys";
import { follow } from "./lib/live";
import { identify } from "./lib/session";
import { watchBadges } from "./parts/badges";

followLinks();
handleKeys();
// A server that answers soon is waited for, so that the page is drawn once.
const late = new Promise((resolve) => setTimeout(resolve, 150));
void Promise.race([Promise.all([readEarly(), identify()]), late]).then(() => {
  render(<App />, document.body);
  follow();
  watchBadges();
});
