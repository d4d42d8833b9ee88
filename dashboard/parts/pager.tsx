// Pages of a list. The current page is in the address.

import { MAX_OFFSET } from "../../contract/words/values.ts";
import { count, plural } from "../format.ts";
import { place, refine } from "../router.ts";

export const PAGE_SIZE = 50;

export const offsetInAddress = (): number => {
  const offset = Number(place.value.query.get("offset") ?? 0);
  return Number.isInteger(offset) && offset > 0 ? Math.min(offset, MAX_OFFSET) : 0;
};

/** A key press leaves the pager, which has the focus, in view. */
export const scrollUp = ({ detail: clicks }: MouseEvent): void => {
  if (clicks > 0) scrollTo({ top: 0 });
};

const turningTo =
  (offset: number) =>
  (event: MouseEvent): void => {
    refine({ offset: offset <= 0 ? null : String(offset) });
    scrollUp(event);
  };

export const Pager = ({
  total,
  offset,
  size = PAGE_SIZE,
  one,
  many = `${one}s`,
}: {
  total: number;
  offset: number;
  size?: number;
  /** What is listed, as one and as many. */
  one: string;
  many?: string;
}) => {
  if (total === 0) return null;
  const last = Math.min(offset + size, total);
  const isEnd = last >= total || offset + size > MAX_OFFSET;
  return (
    <nav class="pager" aria-label={`Pages of ${many}`}>
      <span>
        {count(Math.min(offset + 1, total))}–{count(last)} of {plural(total, one, many)}
      </span>
      {(offset > 0 || !isEnd) && (
        <span class="pager-turn">
          <button type="button" class="button small" disabled={offset === 0} onClick={turningTo(offset - size)}>
            Previous
          </button>
          <button type="button" class="button small" disabled={isEnd} onClick={turningTo(offset + size)}>
            Next
          </button>
        </span>
      )}
    </nav>
  );
};
