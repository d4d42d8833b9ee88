// Cost by a dimension that the reader chooses.

import type { CostByGroup, CostByProvider, CostQuery } from "../../contract/cost.ts";
import { api } from "../api.ts";
import { Choice } from "../parts/form.tsx";
import { Empty, Loading, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { refine } from "../router.ts";
import { type NameOf, readKeyNames } from "../state/key-names.ts";
import type { Loaded } from "../state/load.ts";
import { CostGroups } from "./cost-groups.tsx";
import { CostProviders } from "./cost-providers.tsx";

const BY = ["provider", "model", "tag", "key", "worker", "schedule"] as const;
export type By = (typeof BY)[number];

export const byOf = (text: string | null): By => BY.find((one) => one === text) ?? "provider";

interface Groups {
  readonly groups: CostByGroup;
  /** By provider, with the models of each. */
  readonly providers: CostByProvider | null;
  readonly nameOf: NameOf;
}

/** Other values than keys are names themselves. */
export const asIs: NameOf = (value) => value;

export const readGroups = async (by: By, query: Partial<CostQuery>, signal: AbortSignal): Promise<Groups> => {
  const [groups, providers, nameOf] = await Promise.all([
    api.cost.by(by, query, { signal }),
    by === "provider" ? api.cost.byProvider(query, { signal }) : null,
    by === "key" ? readKeyNames(signal) : asIs,
  ]);
  return { groups, providers, nameOf };
};

const Grouped = ({ groups, providers, nameOf }: Groups) => {
  if (groups.rows.length === 0)
    return <Empty title="Nothing was spent in this span.">Costs appear here when jobs end.</Empty>;
  return providers === null ? <CostGroups groups={groups} nameOf={nameOf} /> : <CostProviders costs={providers} />;
};

export const CostBy = ({ by, grouped: { data, error, reload } }: { by: By; grouped: Loaded<Groups> }) => (
  <Panel title={by === "provider" ? "By provider and model" : `By ${by}`}>
    <Choice
      label="By"
      value={by}
      options={BY.map((one) => [one, one] as const)}
      onInput={(next) => refine({ by: next })}
    />
    <Problem error={error} retry={reload} />
    {data === null && error === null && <Loading what="the costs" />}
    {data !== null && <Grouped {...data} />}
  </Panel>
);
