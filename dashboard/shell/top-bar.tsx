// The bar over every page: the tenant, whether the page is live, the killswitch, the theme, sign-out.

import { ForOperators } from "../parts/for-operators.tsx";
import { Icon } from "../parts/icon.tsx";
import { Lamp } from "../parts/lamp.tsx";
import { connection } from "../state/live.ts";
import { session } from "../state/session.ts";
import { Account } from "./account.tsx";
import { KillswitchButton } from "./killswitch-button.tsx";
import { openPalette } from "./palette.tsx";

const PALETTE_KEY = navigator.platform.startsWith("Mac") ? "⌘ K" : "Ctrl K";

const LIVE = {
  live: { aspect: "clear", says: "Live" },
  connecting: { aspect: "caution", says: "Connecting" },
  lost: { aspect: "stop", says: "Not live" },
} as const;

const LiveLamp = () => {
  const { aspect, says } = LIVE[connection.value];
  return (
    <span class={`live live-${connection.value}`} role="status">
      <Lamp aspect={aspect} isLit={connection.value === "live"} />
      <span>{says}</span>
    </span>
  );
};

export const TopBar = () => (
  <header class="top-bar">
    <a class="nameboard" href="#/" aria-label="Signalbox, to the overview">
      Signalbox
    </a>
    <span class="tenant" title="Tenant and key">
      <strong>{session.value?.tenant}</strong>
      <span class="dim">
        {session.value?.name} · {session.value?.role}
      </span>
    </span>
    <span class="top-fill" />
    <button type="button" class="button find" aria-keyshortcuts="Control+K" onClick={openPalette}>
      <Icon name="search" />
      <span class="find-says">Find anything</span> <kbd>{PALETTE_KEY}</kbd>
    </button>
    <LiveLamp />
    <ForOperators>
      <KillswitchButton />
    </ForOperators>
    <span class="top-more">
      <Account />
    </span>
  </header>
);
