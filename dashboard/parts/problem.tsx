// An error in the coordinator's words, with the fields it names and a way to continue.

import { ApiProblem } from "../../contract/client/problem.ts";
import { plural, withLocalTimes } from "../format.ts";
import { byReason } from "./by-reason.ts";

interface Verdict {
  instance?: string;
  reasons?: string[];
}

const MAX_REASONS = 20;

const WorkerReasons = ({ workers }: { workers: readonly unknown[] }) => (
  <ul class="problem-list">
    {byReason(workers as Verdict[])
      .slice(0, MAX_REASONS)
      .map(([reason, group]) => (
        <li key={reason}>
          <strong>{group.length === 1 ? group[0]?.instance : plural(group.length, "worker")}</strong>: {reason}
        </li>
      ))}
  </ul>
);

export const Problem = ({ error, retry }: { error: Error | null; retry?: () => void }) => {
  if (error === null) return null;
  const problem = error instanceof ApiProblem ? error : null;
  const errors = problem?.errors ?? [];
  // What the page itself refuses has no title.
  const title = problem?.title ?? error.message;
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{title}</strong>
        {errors.length === 0 && error.message !== title && <> – {withLocalTimes(error.message)}</>}
      </p>
      {errors.length > 0 && (
        <ul class="problem-list">
          {errors.map(({ path, message }) => (
            <li key={`${path}${message}`}>
              {path !== "" && <code>{path}</code>} {message}
            </li>
          ))}
        </ul>
      )}
      {problem !== null && problem.workers.length > 0 && <WorkerReasons workers={problem.workers} />}
      <p class="problem-foot">
        {retry !== undefined && problem?.status !== 404 && (
          <button type="button" class="button small" onClick={retry}>
            Try again
          </button>
        )}
        {problem?.requestId && <span class="dim">request {problem.requestId}</span>}
      </p>
    </div>
  );
};
