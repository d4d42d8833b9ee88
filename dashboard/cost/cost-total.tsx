// What a span cost in all, beside the span before.

import type { CostSummary } from "../../contract/cost.ts";
import { count, plural, usd } from "../format.ts";
import { Panel } from "../parts/page.tsx";
import { href } from "../router.ts";
import { unpricedIn } from "./cost-groups.tsx";
import { RANGES, type Range } from "./cost-range.ts";

const change = (now: number, before: number): string => {
  if (before === 0) return usd(0);
  const percent = Math.round(((now - before) / before) * 100);
  return `${usd(before)} (${percent > 0 ? "+" : ""}${percent} %)`;
};

/** Names the span that its figures are of, also while another is read. */
export const CostTotal = ({ summary, range }: { summary: CostSummary; range: Range }) => (
  <Panel title={RANGES[range].name}>
    <p class="figure num">{usd(summary.total_usd)}</p>
    <p class="figure-note">
      {plural(summary.jobs, "job")}; {RANGES[range].before} {change(summary.total_usd, summary.previous_total_usd)}
    </p>
    <p class="figure-note">
      {count(summary.usage.input_tokens)} tokens in, {count(summary.usage.output_tokens)} out
    </p>
    {summary.unpriced_jobs > 0 && (
      <p>
        <a class="tone-caution" href={href(["jobs"], unpricedIn(summary))}>
          {plural(summary.unpriced_jobs, "job")} of unknown price
        </a>
        : not in the sum.
      </p>
    )}
  </Panel>
);
