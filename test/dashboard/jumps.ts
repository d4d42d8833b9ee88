// What moves on a page while it is read: the browser's own layout shifts.

import type { Page } from "playwright-core";

/** More is a jump that a reader sees; below it a line of text is in another place of its column. */
const MOST_SHIFT = 0.02;

type Watching = typeof globalThis & { shifts: string[]; shifted: number };

interface Shift extends PerformanceEntry {
  readonly value: number;
  readonly sources: readonly { node: Node | null }[];
}

/** Call it before the page is opened. */
export const watchShifts = (page: Page): Promise<unknown> =>
  page.addInitScript(() => {
    const watching = Object.assign(globalThis as Watching, { shifts: [], shifted: 0 });
    new PerformanceObserver((list) => {
      for (const { value, sources } of list.getEntries() as Shift[]) {
        watching.shifted += value;
        const moved = sources.map(({ node }) => (node instanceof Element ? node.className : node?.nodeName));
        watching.shifts.push(`${value.toFixed(3)} by ${moved.join(", ")}`);
      }
    }).observe({ type: "layout-shift", buffered: true });
  });

/** What moved while a page of its own document was read. */
export const jumps = async (page: Page): Promise<string[]> => {
  const { shifts, shifted } = await page.evaluate(() => {
    const { shifts, shifted } = globalThis as Watching;
    return { shifts, shifted };
  });
  return shifted > MOST_SHIFT ? shifts : [];
};
