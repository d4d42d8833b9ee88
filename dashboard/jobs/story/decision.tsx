// Why the router chose this worker: the score by parts beside the runner-up's, and how many workers were refused for
// which reason.

import type { RoutingDecision } from "../../../contract/jobs/job.ts";
import { entryOf } from "../../../contract/words/values.ts";
import { plural } from "../../format.ts";
import { href } from "../../router.ts";
import { partColour, partLabel } from "../score-bars.tsx";

export const isDecision = (detail: unknown): detail is RoutingDecision =>
  typeof detail === "object" && detail !== null && "score" in detail && "breakdown" in detail;

/** Scores that differ by less are shown as equal. */
const LEAST_GAP = 0.05;

type RunnerUp = NonNullable<RoutingDecision["runner_up"]>;

const Share = ({ part, share }: { part: string; share: number }) => (
  <svg class="part-share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect style={{ fill: partColour(part) }} width={share * 100} height="8" />
  </svg>
);

const percent = (share: number | undefined): string => (share === undefined ? "–" : `${Math.round(share * 100)} %`);

const Parts = ({ decision, chosen }: { decision: RoutingDecision; chosen: string }) => {
  const { breakdown, runner_up: second } = decision;
  return (
    <table class="table parts">
      <thead>
        <tr>
          <th scope="col">Part of the score</th>
          <th scope="col" class="num" colSpan={2} title={chosen}>
            {chosen}
          </th>
          {second != null && (
            <th scope="col" class="num" title={second.worker}>
              {second.worker}
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {Object.entries(breakdown).map(([part, share]) => (
          <tr key={part}>
            <th scope="row">{partLabel(part)}</th>
            <td>
              <Share part={part} share={share} />
            </td>
            <td class="num">{percent(share)}</td>
            {second != null && <td class="num">{percent(second.breakdown[part])}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
};

const whyNext = (decision: RoutingDecision, second: RunnerUp): string => {
  const { score, strategy = "score" } = decision;
  if (strategy !== "score") return `the strategy ${strategy} decides before the score`;
  if (score < second.score) return "it did not start the last job that it was given";
  if (score - second.score < LEAST_GAP) return "equal scores: equal workers take turns";
  return `lower in ${behindIn(second, decision)}`;
};

/** The parts in which the runner-up was worse, largest difference first. */
const behindIn = (second: RunnerUp, { breakdown }: RoutingDecision): string => {
  const gaps = Object.entries(breakdown)
    .map(([part, share]) => ({ part, gap: share - (second.breakdown[part] ?? 0) }))
    .filter(({ gap }) => gap > 0)
    .sort((one, other) => other.gap - one.gap);
  return gaps.map(({ part }) => partLabel(part)).join(", ");
};

const Second = ({ decision }: { decision: RoutingDecision }) => {
  const { runner_up: second } = decision;
  // Earlier releases did not store it.
  if (second === undefined) return null;
  if (second === null) return <p>No other worker could take it.</p>;
  return (
    <p>
      Next best: <a href={href(["fleet", second.worker])}>{second.worker}</a>, score{" "}
      <span class="num">{second.score.toFixed(1)}</span>; {whyNext(decision, second)}.
    </p>
  );
};

/** The router's filters, as the reason why a worker was refused. */
const TURNED_AWAY: Record<string, string> = {
  provider: "of another provider",
  echo: "of echo, which answers only jobs that ask for it",
  chain: "outside the fallback chain",
  api: "without the API",
  tags: "without its tags",
  model: "without its model",
  missing_model: "whose runtime lacks its model",
  offline: "offline",
  paused: "paused",
  unavailable: "unavailable",
  provider_limit: "of a provider that is closed",
  failed_before: "that failed it before",
  capacity: "full",
};

const TurnedAway = ({ decision: { refused } }: { decision: RoutingDecision }) => {
  const all = Object.entries(refused ?? {}).map(([filter, many]) => {
    const why = entryOf(TURNED_AWAY, filter) ?? filter.replaceAll("_", " ");
    return `${plural(many, "worker")} ${why}`;
  });
  return all.length === 0 ? null : <p class="dim">Left out: {all.join(", ")}.</p>;
};

export const DecisionView = ({ decision, chosen }: { decision: RoutingDecision; chosen: string }) => (
  <div class="decision">
    <Second decision={decision} />
    <TurnedAway decision={decision} />
    <Parts decision={decision} chosen={chosen} />
  </div>
);

export const scoreText = ({ score, strategy, runner_up: second }: RoutingDecision): string =>
  [
    `score ${score.toFixed(1)}`,
    ...(strategy === undefined || strategy === "score" ? [] : [`strategy ${strategy}`]),
    ...(second == null ? [] : [`before ${second.worker} with ${second.score.toFixed(1)}`]),
  ].join(", ");
