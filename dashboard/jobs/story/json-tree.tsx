// A JSON value as a tree that opens and closes; long lists are cut.

import { useState } from "preact/hooks";

const MAX_ROWS = 100;
/** Levels that are open at first. */
const OPEN_DEPTH = 2;

const Leaf = ({ value }: { value: unknown }) => (
  <span class={`json-${value === null ? "null" : typeof value}`}>{JSON.stringify(value) ?? "null"}</span>
);

const sizeOf = (value: object): string =>
  Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;

const Rows = ({ value, depth }: { value: object; depth: number }) => {
  const [limit, setLimit] = useState(MAX_ROWS);
  const entries = Object.entries(value);
  return (
    <ul class="json-rows">
      {entries.slice(0, limit).map(([name, inner]) => (
        <li key={name}>
          <JsonNode name={name} value={inner} depth={depth} />
        </li>
      ))}
      {entries.length > limit && (
        <li>
          <button type="button" class="button small" onClick={() => setLimit(limit + MAX_ROWS)}>
            {entries.length - limit} more
          </button>
        </li>
      )}
    </ul>
  );
};

const JsonNode = ({ name, value, depth }: { name: string; value: unknown; depth: number }) => {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH);
  if (typeof value !== "object" || value === null) {
    return (
      <>
        <span class="json-name">{name}</span> <Leaf value={value} />
      </>
    );
  }
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="json-name">{name}</span> <span class="dim">{sizeOf(value)}</span>
      </summary>
      {isOpen && <Rows value={value} depth={depth + 1} />}
    </details>
  );
};

export const JsonTree = ({ value }: { value: unknown }) => (
  <div class="json-tree">
    {typeof value === "object" && value !== null ? <Rows value={value} depth={0} /> : <Leaf value={value} />}
  </div>
);
