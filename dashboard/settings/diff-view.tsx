// A diff with a sign before each line, so that it does not depend on colour alone.

import { type DiffLine, shortDiff } from "./diff.ts";

const SIGNS: Record<DiffLine["kind"], string> = { same: " ", out: "−", in: "+", gap: " " };

export const DiffView = ({ lines, name }: { lines: readonly DiffLine[]; name: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so must be reachable by keyboard
  <section class="diff" tabIndex={0} aria-label={name}>
    {shortDiff(lines).map((line, index) => (
      <div key={index} class={`diff-${line.kind}`}>
        <span class="diff-sign">{SIGNS[line.kind]}</span>
        {line.text}
      </div>
    ))}
  </section>
);
