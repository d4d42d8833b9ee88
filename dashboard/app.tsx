// The shell: the sign-in page, or the bars, the banners and the page of the address.

import { useEffect } from "preact/hooks";
import { pageAt } from "./pages/page-at.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { ConnectionBanner, KillswitchBanner } from "./parts/banners.tsx";
import { Nav } from "./parts/nav.tsx";
import { Notices } from "./parts/notices.tsx";
import { PaletteHost } from "./parts/palette.tsx";
import { TopBar } from "./parts/top-bar.tsx";
import { pagePath, place } from "./router.ts";
import { isHalted } from "./state/board.ts";
import { connectLive } from "./state/live.ts";
import { mayLook, offeredKey, session, user } from "./state/session.ts";

const CurrentPage = () => {
  const path = pagePath.value;
  return <div key={path}>{pageAt(place.peek().segments)}</div>;
};

const Console = () => {
  useEffect(connectLive, []);
  return (
    <div class={`console${isHalted.value ? " console-halted" : ""}`}>
      <button type="button" class="skip" onClick={() => document.querySelector<HTMLElement>("h1")?.focus()}>
        Skip to the page
      </button>
      <TopBar />
      <Nav />
      <main>
        <KillswitchBanner />
        <ConnectionBanner />
        <CurrentPage />
      </main>
      <Notices />
      <PaletteHost />
    </div>
  );
};

export const App = () => {
  const who = session.value;
  if (who === undefined)
    return (
      <p class="starting" role="status">
        Connecting …
      </p>
    );
  if (who === null || !mayLook.value || offeredKey.value !== null) return <SignIn />;
  return <Console key={user.value} />;
};
