// What is wrong with a page as it is laid out now: each finding says which part, and how.

import type { Page } from "playwright-core";

export const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);

/** Parts whose content leaves them sideways; only a text that is meant to scroll may. */
export const overflowing = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll(".track, .panel, .page > :not(.table-box), .table-box")]
      .filter((part) => part.scrollWidth > part.clientWidth + 1)
      .map((part) => part.className),
  );

const LEAST_SHARE = 0.35;

/** What a row is about must not be cut while columns of less stand wide beside it. */
export const squeezed = (page: Page): Promise<string[]> =>
  page.evaluate(
    (least) =>
      [...document.querySelectorAll<HTMLElement>("tbody tr:first-child > .cell-main")]
        .filter((cell) => cell.offsetWidth < least * (cell.closest("table")?.offsetWidth ?? 0))
        .map((cell) => `${cell.offsetWidth} px for "${cell.textContent?.slice(0, 40)}"`),
    LEAST_SHARE,
  );

/** Columns that are left out at this width, and are missing in the line below the table that names such. */
export const unsaid = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>(".table-hides")].flatMap((says) =>
      [...(says.closest(".table-box")?.querySelectorAll<HTMLElement>("th[scope=col]") ?? [])]
        .filter((head) => head.offsetWidth === 0 && head.querySelector(".visually-hidden") === null)
        .filter((head) => !says.innerText.includes(head.textContent ?? ""))
        .map((head) => `the column "${head.textContent}" is left out without a word`),
    ),
  );

/** Texts in a table that stand over their neighbours, beside or below. */
export const spilling = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>(":is(td, tbody th):not(.cell-check) *")]
      .filter((part) => {
        const cell = part.closest("td, th")?.getBoundingClientRect();
        const { right, bottom } = part.getBoundingClientRect();
        const isBeyond = cell !== undefined && (right > cell.right + 1 || bottom > cell.bottom + 1);
        const isOver = part.clientHeight > 0 && part.scrollHeight > part.clientHeight + 1;
        return part.innerText !== "" && (isBeyond || (isOver && getComputedStyle(part).overflowY === "visible"));
      })
      .map((part) => `"${part.innerText?.slice(0, 40)}" leaves its cell`),
  );

/** Texts whose end is cut and can be read nowhere. */
export const cutForGood = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("main :is(a, span)")]
      .filter(
        (part) =>
          part.scrollWidth > part.clientWidth + 1 &&
          getComputedStyle(part).textOverflow === "ellipsis" &&
          part.closest("[title]") === null,
      )
      .map((part) => `"${part.textContent?.slice(0, 40)}" is cut and has no title`),
  );

/** Fields that stand over their neighbours, also of a part that is closed. */
export const wideFields = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    for (const part of document.querySelectorAll<HTMLDetailsElement>("details.more")) part.open = true;
    return [...document.querySelectorAll<HTMLElement>(".field-row :is(input, select, textarea)")]
      .filter((field) => {
        const place = field.closest(".field-row > *")?.getBoundingClientRect();
        return place !== undefined && field.getBoundingClientRect().right > place.right + 1;
      })
      .map((field) => `the field "${field.closest(".field-row > *")?.textContent}" stands over the next`);
  });

/** Words of a chart that reach beyond its picture, which cuts them; a waterfall has room beside it. */
export const cutInCharts = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll("svg:not(.fall-axis) text")]
      .filter((text) => {
        const [inner, outer] = [text, text.closest("svg") as Element].map((one) => one.getBoundingClientRect());
        return (
          inner !== undefined && outer !== undefined && (inner.left < outer.left - 1 || inner.right > outer.right + 1)
        );
      })
      .map((text) => `"${text.textContent}" is cut`),
  );
