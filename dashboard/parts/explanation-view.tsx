// The router's whole reasoning: who would get the job, every score by its parts, and why the others would not.

import type { Explanation } from "../../contract/dispatch.ts";
import { plural } from "../format.ts";
import { href } from "../router.ts";
import { NoWorkers } from "./fleet-glance.tsx";
import { Lamp } from "./lamp.tsx";
import { ScoreBar, ScoreLegend } from "./score-bars.tsx";

const MAX_SHOWN = 100;

const Choice = ({ explanation }: { explanation: Explanation }) => {
  const { selected, workers, strategy } = explanation;
  const eligible = workers.filter(({ eligible }) => eligible).length;
  return (
    <p class={`verdict verdict-${selected === null ? "stop" : "clear"}`} role="status">
      <Lamp aspect={selected === null ? "stop" : "clear"} />
      {selected === null ? (
        <span>
          <strong>No worker would get it now.</strong>
        </span>
      ) : (
        <span>
          <strong>{selected}</strong> would get it: {plural(eligible, "worker")} of {workers.length} eligible, strategy{" "}
          {strategy}
        </span>
      )}
    </p>
  );
};

export const ExplanationView = ({ explanation }: { explanation: Explanation }) => {
  const { workers, weights, notes, selected } = explanation;
  const eligible = workers.filter((worker) => worker.eligible).slice(0, MAX_SHOWN);
  const refused = workers.filter((worker) => !worker.eligible).slice(0, MAX_SHOWN);
  return (
    <div class="explanation">
      <Choice explanation={explanation} />
      {notes.map((note) => (
        <p key={note} class="tone-caution">
          {note}
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
              </li>
            ))}
          </ol>
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
                  <span class="refusal-why">{worker.reasons.join("; ")}</span>
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
};
