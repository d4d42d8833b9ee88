// The entry: theme, then session, then the page.

import { effect, untracked } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { followAddress } from "./router.ts";
import { startClock } from "./state/clock.ts";
import { dropFirstSocket } from "./state/first-socket.ts";
import { keepFocus } from "./state/focus.ts";
import { keepIdentity } from "./state/identity.ts";
import { connectLive } from "./state/live.ts";
import { keepScroll } from "./state/scroll.ts";
import { openSession, session, viewer } from "./state/session.ts";
import { applyTheme } from "./state/theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/controls.css";
import "./styles/signals.css";
import "./styles/page.css";
import "./styles/table.css";
import "./styles/workbench.css";
import "./styles/overview.css";
import "./styles/tiles.css";
import "./styles/detail.css";
import "./styles/attempts.css";
import "./styles/value.css";
import "./styles/diff.css";
import "./styles/message.css";
import "./styles/killswitch.css";
import "./styles/track.css";
import "./styles/fleet.css";
import "./styles/plug-in.css";
import "./styles/figures.css";
import "./styles/batches.css";
import "./styles/models.css";
import "./styles/forced-colors.css";

applyTheme();
startClock();
// Before the router reads the address: it may contain a key, which must be removed first.
void openSession();
keepIdentity();
followAddress();
// Before the page is drawn, because its snapshot takes longer than any read.
effect(() => {
  if (viewer.value !== null) return untracked(connectLive);
  if (session.value !== undefined) dropFirstSocket();
  return undefined;
});
keepScroll();
keepFocus();
const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no #app");
render(<App />, root);
