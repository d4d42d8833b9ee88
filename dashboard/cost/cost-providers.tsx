// Cost by provider, and by model below each, as bars.

import type { CostByProvider } from "../../contract/cost.ts";
import { plural } from "../format.ts";
import { Table } from "../parts/table.tsx";
import { columnsOf, Figures, JobsLink } from "./cost-groups.tsx";

type Provider = CostByProvider["providers"][number];

const Rows = ({ provider, costs }: { provider: Provider; costs: CostByProvider }) => (
  <>
    <tr class="row-group">
      <th scope="row">
        <JobsLink filter={{ ran_provider: provider.provider }} span={costs} name={provider.provider} />
      </th>
      <Figures of={provider} totalUsd={costs.total_usd}>
        {provider.unpriced_jobs > 0 && (
          <span class="row-note tone-caution">{plural(provider.unpriced_jobs, "job")} of unknown price</span>
        )}
      </Figures>
    </tr>
    {provider.models.map((model) => (
      <tr key={model.model ?? ""}>
        <td class="cell-sub">
          {model.model === null ? (
            "no model named"
          ) : (
            <JobsLink
              filter={{ ran_provider: provider.provider, model: model.model }}
              span={costs}
              name={model.model}
            />
          )}
        </td>
        <Figures of={model} totalUsd={costs.total_usd} />
      </tr>
    ))}
  </>
);

export const CostProviders = ({ costs }: { costs: CostByProvider }) => (
  <Table name="Cost by provider and model" columns={columnsOf("Provider, model")}>
    {costs.providers.map((provider) => (
      <Rows key={provider.provider} provider={provider} costs={costs} />
    ))}
  </Table>
);
