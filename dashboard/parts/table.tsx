// A list as a table: a name and headings for those who hear it, rows in a box that scrolls by itself.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Column {
  readonly title: string;
  /** `num` for figures, `cell-wide` for what a phone leaves out. */
  readonly class?: string;
  /** Its cells speak for themselves. */
  readonly isUnseen?: boolean;
}

interface Props {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** Whether a box is narrower than what stands in it: then the keyboard must reach it to scroll it. */
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

export const Table = ({ name, columns, class: kind, children }: Props) => {
  const { box, isScrolled } = useIsScrolled();
  const region = isScrolled ? ({ role: "region", "aria-label": name, tabIndex: 0 } as const) : {};
  return (
    <div ref={box} class="table-box" {...region}>
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
    </div>
  );
};
