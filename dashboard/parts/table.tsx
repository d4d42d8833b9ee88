// A list as a table: a name and headings for screen readers, rows in a box that scrolls.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Column {
  readonly title: string;
  /**
   * `num`: numbers. `cell-wide`: hidden in a narrow table; with `cell-mid` a tablet's table keeps it. `cell-roomy`:
   * hidden only in a phone's table.
   */
  readonly class?: string;
  /** Its cells need no visible heading. */
  readonly isUnseen?: boolean;
}

interface Props {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** Whether a box is narrower than its content: then it must be reachable by keyboard to scroll. */
const useIsScrolled = () => {
  const box = useRef<HTMLDivElement>(null);
  const [isScrolled, setScrolled] = useState(false);
  useEffect(() => {
    const { current } = box;
    if (current === null) return;
    const observer = new ResizeObserver(() => setScrolled(current.scrollWidth > current.clientWidth));
    observer.observe(current);
    for (const child of current.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  return { box, isScrolled };
};

/** A table with this many columns hides some sooner. */
const MANY_COLUMNS = 6;

/** Shown by the style sheet where the columns are hidden. */
const HiddenColumns = ({ columns }: { columns: readonly Column[] }) => {
  const titlesOf = (isHidden: (kind: string) => boolean): string =>
    columns
      .filter((column) => column.isUnseen !== true && isHidden(column.class ?? ""))
      .map(({ title }) => `, ${title}`)
      .join("");
  const isMid = (kind: string): boolean => kind.includes("cell-mid");
  const hidden = titlesOf((kind) => kind.includes("cell-wide") && !isMid(kind)).slice(2);
  if (hidden === "") return null;
  return (
    <p class="table-hides">
      Not shown at this width: {hidden}
      <span class="hides-mid">{titlesOf(isMid)}</span>
      <span class="narrow-only">{titlesOf((kind) => kind.includes("cell-roomy"))}</span>.
    </p>
  );
};

export const Table = ({ name, columns, class: kind, children }: Props) => {
  const { box, isScrolled } = useIsScrolled();
  const region = isScrolled ? ({ role: "region", "aria-label": name, tabIndex: 0 } as const) : {};
  const size = columns.length >= MANY_COLUMNS ? "table-box table-many" : "table-box";
  return (
    <div ref={box} class={size} {...region}>
      <table class={kind === undefined ? "table" : `table ${kind}`}>
        <caption class="visually-hidden">{name}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.class}>
                {column.isUnseen === true ? <span class="visually-hidden">{column.title}</span> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      <HiddenColumns columns={columns} />
    </div>
  );
};
