// The shell: the sign-in page, or the bars, the banners and the page of the address.

import { pagePath, place } from "./router.ts";
import { ConnectionBanner, KillswitchBanner, SessionBanner } from "./shell/banners.tsx";
import { Nav } from "./shell/nav.tsx";
import { Notices } from "./shell/notices.tsx";
import { pageAt } from "./shell/page-at.tsx";
import { PaletteHost } from "./shell/palette.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { TopBar } from "./shell/top-bar.tsx";
import { isHalted } from "./state/board.ts";
import { session, viewer } from "./state/session.ts";

const CurrentPage = () => {
  const path = pagePath.value;
  return <div key={path}>{pageAt(place.peek().segments)}</div>;
};

const Console = () => (
  <div class={`console${isHalted.value ? " console-halted" : ""}`}>
    <button type="button" class="skip" onClick={() => document.querySelector<HTMLElement>("h1")?.focus()}>
      Skip to the page
    </button>
    <TopBar />
    <Nav />
    <main>
      <KillswitchBanner />
      <ConnectionBanner />
      <SessionBanner />
      <CurrentPage />
    </main>
    <Notices />
    <PaletteHost />
  </div>
);

export const App = () => {
  if (session.value === undefined)
    return (
      <p class="starting" role="status">
        Connecting …
      </p>
    );
  return viewer.value === null ? <SignIn /> : <Console key={viewer.value} />;
};
