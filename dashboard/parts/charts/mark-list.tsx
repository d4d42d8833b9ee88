// The events of a time axis in words.

import type { Mark } from "../../../contract/activity.ts";
import { count } from "../../format.ts";
import { Time } from "../time.tsx";
import { MarkGlyph, type MarkKind } from "./mark-glyph.tsx";
import type { PlotMark } from "./plot.tsx";

const MAX_LISTED = 4;

interface Words {
  readonly one: (target: string) => string;
  readonly several: (many: string) => string;
}

const WORDS: Record<MarkKind, Words> = {
  halt: { one: (target) => `Halt, ${target}`, several: (many) => `${many} halts` },
  clear: { one: () => "Halt cleared", several: (many) => `Halt cleared ${many} times` },
  pause: { one: (target) => `${target} paused`, several: (many) => `${many} workers paused` },
  resume: { one: (target) => `${target} resumed`, several: (many) => `${many} workers resumed` },
  config: { one: () => "Config changed", several: (many) => `Config changed ${many} times` },
  budget: { one: (target) => `Budget reached: ${target}`, several: (many) => `${many} budgets reached` },
};

export const plotMarks = (marks: readonly Mark[]): PlotMark[] =>
  marks.map(({ at, kind, count: many, target }) => ({
    at: Date.parse(at) / 1000,
    kind,
    says: many === 1 ? WORDS[kind].one(target ?? "") : WORDS[kind].several(count(many)),
  }));

export const MarkList = ({ marks }: { marks: readonly PlotMark[] }) =>
  marks.length === 0 ? null : (
    <ul class="marks" aria-label="What happened meanwhile">
      {marks.slice(-MAX_LISTED).map((mark) => (
        <li key={`${mark.at} ${mark.says}`}>
          <MarkGlyph kind={mark.kind} /> {mark.says}{" "}
          <span class="dim">
            <Time at={new Date(mark.at * 1000).toISOString()} />
          </span>
        </li>
      ))}
      {marks.length > MAX_LISTED && <li class="dim">and {count(marks.length - MAX_LISTED)} before</li>}
    </ul>
  );
