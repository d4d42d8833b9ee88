// The tenant's own keys of hosted providers: for which providers, who set each, and when. No key is ever shown.

import type { ProviderKeyResource } from "../../contract/access/provider-key.ts";
import { api } from "../api.ts";
import { Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { useLoad } from "../state/load.ts";

const COLUMNS: readonly Column[] = [{ title: "Provider" }, { title: "Set by" }, { title: "Set", class: "num" }];

const Row = ({ item }: { item: ProviderKeyResource }) => (
  <tr>
    <td class="cell-main">
      <strong>{item.provider}</strong>
    </td>
    <td>{item.source === "operator" ? <span class="dim">the operator</span> : item.set_by}</td>
    <td class="num">{item.set_at === null ? <span class="dim">–</span> : <Time at={item.set_at} />}</td>
  </tr>
);

export const ProviderKeys = () => {
  const { data, error, reload } = useLoad("provider-keys", (signal) => api.providerKeys.list({ signal }));
  const keys = data?.keys ?? [];
  return (
    <section>
      <Problem error={error} retry={reload} />
      {keys.length > 0 && (
        <Panel title="Keys of hosted providers">
          <Table name="Keys of hosted providers" columns={COLUMNS}>
            {keys.map((key) => (
              <Row key={key.provider} item={key} />
            ))}
          </Table>
        </Panel>
      )}
    </section>
  );
};
