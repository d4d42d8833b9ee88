// The page's only clock: ticks once a second while the page is visible. Corrected by the server's time.

import { signal } from "@preact/signals";

const TICK_MS = 1000;
let skewMs = 0;

export const serverNow = (): number => Date.now() + skewMs;
export const now = signal(serverNow());

/**
 * `askedAt`, `toldAt`: when it was asked for and told, by this machine's clock. On a slow line that is long after it was
 * so; therefore this clock counts as right, unless it cannot be.
 */
export const setServerTime = (iso: string, askedAt: number, toldAt: number): void => {
  const at = Date.parse(iso);
  skewMs = Math.min(Math.max(0, at - toldAt), at - askedAt);
  now.value = serverNow();
};

export const startClock = (): void => {
  setInterval(() => {
    if (!document.hidden) now.value = serverNow();
  }, TICK_MS);
};
