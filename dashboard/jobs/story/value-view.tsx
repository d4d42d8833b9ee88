// A long untrusted value: raw, rendered or as a JSON tree, wrapped or not, with a copy button.

import { useState } from "preact/hooks";
import { answerText } from "../../answer-text.ts";
import { jsonText } from "../../format.ts";
import { RenderedText } from "../../parts/rendered-text.tsx";
import { copy } from "../../parts/text-block.tsx";
import { JsonTree } from "./json-tree.tsx";

type Mode = "raw" | "rendered" | "tree";
const NAMES: Record<Mode, string> = { raw: "Raw", rendered: "Rendered", tree: "Tree" };

/** The value of a text that is itself JSON. */
const treeOf = (value: unknown): unknown => {
  if (typeof value !== "string") return value;
  if (!/^\s*[[{]/.test(value)) return null;
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
};

const modesOf = (words: string | null, tree: unknown): Mode[] => [
  "raw",
  ...(words === null ? [] : (["rendered"] as const)),
  ...(typeof tree === "object" && tree !== null ? (["tree"] as const) : []),
];

const Shown = ({ mode, value, isWrapped }: { mode: Mode; value: unknown; isWrapped: boolean }) => {
  if (mode === "rendered") return <RenderedText text={answerText(value) ?? ""} />;
  if (mode === "tree") return <JsonTree value={treeOf(value)} />;
  return <pre class={isWrapped ? "" : "unwrapped"}>{jsonText(value)}</pre>;
};

export const ValueView = ({ name, value, first = "raw" }: { name: string; value: unknown; first?: Mode }) => {
  const [chosen, setChosen] = useState<Mode>(first);
  const [isWrapped, setWrapped] = useState(true);
  const modes = modesOf(answerText(value), treeOf(value));
  const mode = modes.includes(chosen) ? chosen : "raw";
  return (
    <div class="value">
      <div class="value-bar">
        {modes.length > 1 &&
          modes.map((one) => (
            <button
              key={one}
              type="button"
              class="button small quiet"
              aria-pressed={one === mode}
              aria-label={`${NAMES[one]}: ${name}`}
              onClick={() => setChosen(one)}
            >
              {NAMES[one]}
            </button>
          ))}
        {mode === "raw" && (
          <button
            type="button"
            class="button small quiet"
            aria-pressed={isWrapped}
            aria-label={`Wrap: ${name}`}
            onClick={() => setWrapped(!isWrapped)}
          >
            Wrap
          </button>
        )}
        <button
          type="button"
          class="button small quiet value-copy"
          onClick={() => copy(mode === "rendered" ? (answerText(value) ?? "") : jsonText(value))}
          aria-label={`Copy: ${name}`}
        >
          Copy
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so must be reachable by keyboard */}
      <section tabIndex={0} aria-label={name}>
        <Shown mode={mode} value={value} isWrapped={isWrapped} />
      </section>
    </div>
  );
};
