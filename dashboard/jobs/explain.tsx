// Explains the router's choice for given requirements. They are in the address, so that the question can be shared.

import { PRIORITIES, type Priority } from "../../contract/words/values.ts";
import { ForOperators } from "../parts/for-operators.tsx";
import { toExplainQuery } from "../parts/job-fields.ts";
import { Page, Panel } from "../parts/page.tsx";
import { RequirementFields } from "../parts/requirement-fields.tsx";
import { href, place, refine } from "../router.ts";
import { RouterPreview } from "./router-preview.tsx";

const requirementsInAddress = () => {
  const { query } = place.value;
  const asked = query.get("priority") as Priority | null;
  return {
    tags: query.get("tags") ?? "",
    provider: query.get("provider") ?? "",
    model: query.get("model") ?? "",
    tier: query.get("tier") ?? "",
    priority: asked !== null && PRIORITIES.includes(asked) ? asked : ("normal" as const),
  };
};

export const Explain = () => {
  const requirements = requirementsInAddress();
  const jobId = place.value.query.get("job");
  return (
    <Page
      title="Explain"
      lead="Which worker the router would choose, and why. This changes nothing."
      actions={
        jobId === null && (
          <ForOperators>
            <a class="button" href={href(["jobs", "new"], { ...requirements })}>
              New job with these
            </a>
          </ForOperators>
        )
      }
    >
      <div class="split">
        {jobId === null ? (
          <Panel title="The job asks for">
            <RequirementFields value={requirements} onChange={(changes) => refine(changes)} />
          </Panel>
        ) : (
          <Panel title="The job">
            <p>
              <a href={href(["jobs", jobId])}>{jobId}</a>
            </p>
            <p class="dim">The waiting job, with all its requirements.</p>
            <button type="button" class="button small" onClick={() => refine({ job: null })}>
              Ask about other requirements
            </button>
          </Panel>
        )}
        <Panel title="The router's choice">
          <RouterPreview query={jobId === null ? toExplainQuery(requirements) : { job_id: jobId }} />
        </Panel>
      </div>
    </Page>
  );
};
