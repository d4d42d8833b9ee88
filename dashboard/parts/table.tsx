// A list as a table: a name and headings for those who hear it, rows in a box that scrolls by itself.

import type { ComponentChildren } from "preact";

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

export const Table = ({ name, columns, class: kind, children }: Props) => (
  <div class="table-box">
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
