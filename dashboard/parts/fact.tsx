// Rows of a list of facts.

import type { ComponentChildren } from "preact";
import type { JobResource } from "../../contract/jobs/job.ts";
import { Tags } from "./tags.tsx";

export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

type AskedFields = Pick<JobResource, "provider" | "model" | "tier" | "priority" | "tags">;

/** What a job asks for, or each job of a schedule. */
export const AskedFacts = ({ provider, model, tier, priority, tags }: AskedFields) => (
  <>
    <Fact name="Asks for">
      {provider ?? "any provider"}
      {model !== null && `, ${model}`}
      {tier !== null && `, ${tier}`}
    </Fact>
    <Fact name="Priority">{priority}</Fact>
    {tags.length > 0 && (
      <Fact name="Tags">
        <Tags tags={tags} max={32} />
      </Fact>
    )}
  </>
);
