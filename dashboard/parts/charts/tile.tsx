// A figure with its unit, its period and how it went.

import type { ComponentChildren } from "preact";
import { Spark } from "./spark.tsx";

/** A figure of nothing has no unit. */
export const UNKNOWN = "–";

interface TileProps {
  title: string;
  figure: string;
  unit?: string;
  /** What the figure is of. */
  note: ComponentChildren;
  tone?: "stop" | "caution";
  href?: string;
  spark?: { name: string; values: readonly (number | null)[]; colour: string };
  children?: ComponentChildren;
}

export const Tile = ({ title, figure, unit, note, tone, href, spark, children }: TileProps) => (
  <section class={`tile${tone === undefined ? "" : ` tile-${tone}`}`} aria-label={title}>
    <h2 class="tile-title">{href === undefined ? title : <a href={href}>{title}</a>}</h2>
    <p class="tile-figure num">
      <span class="tile-number">{figure}</span>
      {unit !== undefined && figure !== UNKNOWN && <span class="tile-unit"> {unit}</span>}
    </p>
    {spark !== undefined && <Spark {...spark} />}
    <div class="tile-note">{note}</div>
    {children}
  </section>
);
