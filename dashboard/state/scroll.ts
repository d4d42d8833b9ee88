// Scroll positions: Back and Forward return to them, also from another document, and so does a reload; a link starts at
// the top.

import { effect } from "@preact/signals";
import { entry, isReturn, pagePath } from "../router.ts";
import { keepJson, keptJson } from "./storage.ts";

const MAX_KEPT = 100;
/** Longest wait for a page to become as tall as it was. */
const GIVE_UP_AFTER_MS = 3000;

const KEPT_AS = "signalbox.scroll";
const positions = new Map<number, number>();
let stopReturning = (): void => {};

/** Scrolls there when the page is tall enough, unless the reader scrolls first. */
const returnTo = (top: number): void => {
  const until = Date.now() + GIVE_UP_AFTER_MS;
  const abort = new AbortController();
  const step = (): void => {
    if (abort.signal.aborted) return;
    const reachable = document.documentElement.scrollHeight - innerHeight;
    if (reachable >= top || Date.now() > until) {
      scrollTo({ top, behavior: "instant" });
      stopReturning();
    } else requestAnimationFrame(step);
  };
  stopReturning = () => abort.abort();
  for (const type of ["wheel", "touchstart", "keydown"])
    addEventListener(type, stopReturning, { passive: true, signal: abort.signal });
  requestAnimationFrame(step);
};

const keepPosition = (): void => {
  positions.delete(entry.peek());
  positions.set(entry.peek(), scrollY);
  const [oldest] = positions.keys();
  if (positions.size > MAX_KEPT && oldest !== undefined) positions.delete(oldest);
};

/** For the documents that this tab shows after this one. */
const keepBeyondDocument = (): void => {
  for (const [at, top] of Object.entries(keptJson("sessionStorage", KEPT_AS) ?? {})) positions.set(Number(at), top);
  addEventListener("pagehide", () => keepJson("sessionStorage", KEPT_AS, Object.fromEntries(positions)));
};

export const keepScroll = (): void => {
  history.scrollRestoration = "manual";
  keepBeyondDocument();
  addEventListener("scroll", keepPosition, { passive: true });
  let shown = "";
  effect(() => {
    const at = entry.value;
    const isOtherPage = pagePath.value !== shown;
    shown = pagePath.value;
    stopReturning();
    if (isReturn.peek()) returnTo(positions.get(at) ?? 0);
    else if (isOtherPage) scrollTo({ top: 0, behavior: "instant" });
  });
};
