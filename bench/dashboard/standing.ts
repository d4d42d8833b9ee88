// When a page's content stands: its heading is there, the connection is live, nothing loads, no read is under way, and
// no part has come or gone since. Told by the page itself, so that the measuring costs it nothing.

/// <reference lib="dom" />

import type { Page } from "playwright-core";

/** After so long without a change it stands; the time is that of the last change. */
const QUIET_MS = 500;
/** A page that does not stand by then is counted with this time. */
const MOST_MS = 20_000;

interface Watch {
  lastAt: number;
  reads: number;
}
type Watching = typeof globalThis & { benchWatch: Watch };

/** Call it before the page is opened. */
export const watchChanges = (page: Page): Promise<unknown> =>
  page.addInitScript(() => {
    const watch = { lastAt: 0, reads: 0 };
    Object.assign(globalThis, { benchWatch: watch });
    const changed = (): void => {
      watch.lastAt = performance.now();
    };
    const read = globalThis.fetch;
    globalThis.fetch = async (...asked) => {
      watch.reads += 1;
      try {
        return await read(...asked);
      } finally {
        watch.reads -= 1;
        changed();
      }
    };
    // The text that tells how long ago something was changes for ever; it is not content that comes.
    new MutationObserver(changed).observe(document, { childList: true, subtree: true });
  });

/** The time of the last change once the page stands, on the document's clock. */
const untilStanding = (page: Page, mostMs: number): Promise<number> =>
  page.evaluate(
    ({ quietMs, most }) =>
      new Promise<number>((resolve) => {
        const { benchWatch: watch } = globalThis as Watching;
        const startedAt = performance.now();
        const look = (): void => {
          const stands =
            document.querySelector("main h1") !== null &&
            document.querySelector(".loading, [aria-busy=true]") === null &&
            document.querySelector(".live-live") !== null &&
            watch.reads === 0;
          const nowAt = performance.now();
          if (!stands) watch.lastAt = nowAt;
          if (nowAt - watch.lastAt >= quietMs) resolve(watch.lastAt);
          else if (nowAt - startedAt > most) resolve(nowAt);
          else setTimeout(look, 10);
        };
        look();
      }),
    { quietMs: QUIET_MS, most: mostMs },
  );

/** A document of its own, as from a bookmark: with the code that it needs. In ms. */
export const loadedMs = async (page: Page, address: string): Promise<number> => {
  await page.goto("about:blank");
  await page.goto(address);
  return untilStanding(page, MOST_MS);
};

/** By a link of the page that is shown. In ms. */
export const openedMs = async (page: Page, place: string): Promise<number> => {
  const startedAt = await page.evaluate((to) => {
    const at = performance.now();
    location.hash = to;
    return at;
  }, `#/${place}`);
  return (await untilStanding(page, MOST_MS)) - startedAt;
};
