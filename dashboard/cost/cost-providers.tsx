// Cost by provider, and by model below each, as bars.

import type { CostByProvider } from "../../contract/cost.ts";
import { count, plural, usd } from "../format.ts";
import { Share } from "../parts/charts/share.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { JobsLink } from "./cost-groups.tsx";

type Provider = CostByProvider["providers"][number];

const Rows = ({ provider, costs }: { provider: Provider; costs: CostByProvider }) => (
  <>
    <tr class="row-group">
      <th scope="row">
        <JobsLink filter={{ ran_provider: provider.provider }} span={costs} name={provider.provider} />
      </th>
      <td class="num">{usd(provider.usd)}</td>
      <td class="cell-wide cell-mid">
        <Share part={provider.usd} of={costs.total_usd} />
      </td>
      <td class="num">
        {count(provider.jobs)}
        {provider.unpriced_jobs > 0 && (
          <span class="row-note tone-caution">{plural(provider.unpriced_jobs, "job")} of unknown price</span>
        )}
      </td>
      <td class="num cell-wide">{count(provider.usage.input_tokens)}</td>
      <td class="num cell-wide">{count(provider.usage.output_tokens)}</td>
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
        <td class="num">{usd(model.usd)}</td>
        <td class="cell-wide cell-mid">
          <Share part={model.usd} of={costs.total_usd} />
        </td>
        <td class="num">{count(model.jobs)}</td>
        <td class="num cell-wide">{count(model.usage.input_tokens)}</td>
        <td class="num cell-wide">{count(model.usage.output_tokens)}</td>
      </tr>
    ))}
  </>
);

const COLUMNS: readonly Column[] = [
  { title: "Provider, model" },
  { title: "Cost", class: "num" },
  { title: "Share", class: "cell-wide cell-mid" },
  { title: "Jobs", class: "num" },
  { title: "Tokens in", class: "num cell-wide" },
  { title: "Tokens out", class: "num cell-wide" },
];

export const CostProviders = ({ costs }: { costs: CostByProvider }) => (
  <Table name="Cost by provider and model" columns={COLUMNS}>
    {costs.providers.map((provider) => (
      <Rows key={provider.provider} provider={provider} costs={costs} />
    ))}
  </Table>
);
