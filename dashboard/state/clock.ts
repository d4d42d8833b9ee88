// The page's only clock: ticks once a second while the page is visible. Corrected by the server's time.

import { signal } from "@preact/signals";

const TICK_MS = 1000;
let skewMs = 0;

export const serverNow = (): number => Date.now() + skewMs;
export const now = signal(serverNow());

/** `toldAt`: when it was told, by this machine's clock. */
export const setServerTime = (iso: string, toldAt: number): void => {
  skewMs = Date.parse(iso) - toldAt;
  now.value = serverNow();
};

export const startClock = (): void => {
  setInterval(() => {
    if (!document.hidden) now.value = serverNow();
  }, TICK_MS);
};
