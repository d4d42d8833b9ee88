// The router's whole reasoning: who would get the job, every score by its parts, and why the others would not.

import { useState } from "preact/hooks";
import type { Explanation } from "../../contract/dispatch.ts";
import { count, plural, withLocalTimes } from "../format.ts";
import { byReason, sharedReasons } from "../parts/by-reason.ts";
import { NoWorkers } from "../parts/charts/fleet-glance.tsx";
import { Lamp } from "../parts/lamp.tsx";
import { href } from "../router.ts";
import { ScoreBar, ScoreLegend } from "./score-bars.tsx";

/** The limit of eligible workers shown, and of refused ones. */
export const MAX_NAMED = 100;

const Choice = ({ explanation }: { explanation: Explanation }) => {
  const { selected, eligible, total, strategy } = explanation;
  return (
    <p class={`verdict verdict-${selected === null ? "stop" : "clear"}`} role="status">
      <Lamp aspect={selected === null ? "stop" : "clear"} />
      {selected === null ? (
        <span>
          <strong>No worker would get it now.</strong>
        </span>
      ) : (
        <span>
          <strong>{selected}</strong> would get it: {count(eligible)} of {plural(total, "worker")} eligible, strategy{" "}
          {strategy}
        </span>
      )}
    </p>
  );
};

const Unnamed = ({ named, all, says }: { named: number; all: number; says: string }) =>
  all > named ? (
    <p class="dim">
      {plural(all - named, "more worker")} {says}.
    </p>
  ) : null;

/** As many bars as one compares at a glance. */
const MAX_BARS = 10;

interface Verdict extends Pick<Explanation, "weights" | "selected"> {
  readonly workers: Explanation["workers"];
}

const Scores = ({ workers, weights, selected }: Verdict) => {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? workers : workers.slice(0, MAX_BARS);
  return (
    <>
      <ol class="scores">
        {shown.map((worker) => (
          <li key={worker.instance} class={worker.instance === selected ? "chosen" : ""}>
            <a href={href(["fleet", worker.instance])}>{worker.instance}</a>
            <span class="dim">{worker.provider}</span>
            <span class="num score">{worker.score?.toFixed(1)}</span>
            <ScoreBar breakdown={worker.breakdown} weights={weights} score={worker.score} />
            {worker.note !== undefined && <span class="row-note tone-caution">{worker.note}</span>}
          </li>
        ))}
      </ol>
      {shown.length < workers.length && (
        <button type="button" class="button small" onClick={() => setAll(true)}>
          Show {plural(workers.length - shown.length, "more worker")} that would come later
        </button>
      )}
    </>
  );
};

const Names = ({ workers }: Pick<Explanation, "workers">) => (
  <span class="refused-names">
    {workers.map(({ instance }) => (
      <a key={instance} href={href(["fleet", instance])}>
        {instance}
      </a>
    ))}
  </span>
);

/** The workers with one reason are one entry: a fleet repeats itself. */
const RefusedFor = ({ reason, workers }: { reason: string } & Pick<Explanation, "workers">) => (
  <li>
    <Lamp aspect="stop" />
    {workers.length === 1 ? (
      <span>
        <Names workers={workers} /> <span class="refusal-why">{reason}</span>
      </span>
    ) : (
      <details>
        <summary>
          <strong>{plural(workers.length, "worker")}</strong> <span class="refusal-why">{reason}</span>
        </summary>
        <Names workers={workers} />
      </details>
    )}
  </li>
);

/** What all are refused for stands above, unless it is one of the notes. */
const Refusals = ({ refused, notes }: { refused: Explanation["workers"]; notes: readonly string[] }) => {
  const shared = sharedReasons(refused);
  const said = shared.filter((reason) => !notes.includes(reason));
  const rest = refused.map((worker) => ({
    ...worker,
    reasons: worker.reasons.filter((reason) => !shared.includes(reason)),
  }));
  return (
    <>
      {said.length > 0 && <p>Each of these: {withLocalTimes(said.join("; "))}</p>}
      <ul class="refusals">
        {byReason(rest).map(([reason, group]) => (
          <RefusedFor key={reason} reason={reason || "nothing else"} workers={group} />
        ))}
      </ul>
    </>
  );
};

export const ExplanationView = ({ explanation }: { explanation: Explanation }) => {
  const { workers, weights, notes, selected } = explanation;
  const eligible = workers.filter((worker) => worker.eligible);
  const refused = workers.filter((worker) => !worker.eligible);
  return (
    <div class="explanation">
      <Choice explanation={explanation} />
      {notes.map((note) => (
        <p key={note} class="tone-caution">
          {withLocalTimes(note)}
        </p>
      ))}
      {workers.length === 0 && <NoWorkers />}
      {eligible.length > 0 && (
        <>
          <Scores workers={eligible} weights={weights} selected={selected} />
          <Unnamed named={eligible.length} all={explanation.eligible} says="that would come later" />
          <ScoreLegend weights={weights} />
        </>
      )}
      {refused.length > 0 && (
        <>
          <h3>Refused</h3>
          <Refusals refused={refused} notes={notes} />
          <Unnamed named={refused.length} all={explanation.total - explanation.eligible} says="refused" />
        </>
      )}
    </div>
  );
};
