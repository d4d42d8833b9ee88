// The router's whole reasoning: who would get the job, every score by its parts, and why the others would not.

import type { Explanation } from "../../contract/dispatch.ts";
import { count, plural, withLocalTimes } from "../format.ts";
import { href } from "../router.ts";
import { NoWorkers } from "./fleet-glance.tsx";
import { Lamp } from "./lamp.tsx";
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
          <ol class="scores">
            {eligible.map((worker) => (
              <li key={worker.instance} class={worker.instance === selected ? "chosen" : ""}>
                <a href={href(["fleet", worker.instance])}>{worker.instance}</a>
                <span class="dim">{worker.provider}</span>
                <span class="num score">{worker.score?.toFixed(1)}</span>
                <ScoreBar breakdown={worker.breakdown} weights={weights} score={worker.score} />
                {worker.note !== undefined && <span class="row-note tone-caution">{worker.note}</span>}
              </li>
            ))}
          </ol>
          <Unnamed named={eligible.length} all={explanation.eligible} says="with a lower score" />
          <ScoreLegend weights={weights} />
        </>
      )}
      {refused.length > 0 && (
        <>
          <h3>Refused</h3>
          <ul class="refusals">
            {refused.map((worker) => (
              <li key={worker.instance}>
                <Lamp aspect="stop" />
                <span>
                  <a href={href(["fleet", worker.instance])}>{worker.instance}</a>{" "}
                  <span class="dim">{worker.provider}</span>
                  <span class="refusal-why">{withLocalTimes(worker.reasons.join("; "))}</span>
                </span>
              </li>
            ))}
          </ul>
          <Unnamed named={refused.length} all={explanation.total - explanation.eligible} says="refused" />
        </>
      )}
    </div>
  );
};
