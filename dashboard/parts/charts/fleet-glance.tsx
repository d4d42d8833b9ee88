// The fleet at a glance: a row per provider, with its free places and what does not work.

import type { ProviderFleet } from "../../../contract/live.ts";
import { npx, packageAt } from "../../../contract/words/version.ts";
import { count, plural } from "../../format.ts";
import { href } from "../../router.ts";
import { fleet, hasSnapshot } from "../../state/board.ts";
import { isAdmin } from "../../state/session.ts";
import { Empty, Loading } from "../page.tsx";
import { type Column, Table } from "../table.tsx";
import { LoadBar } from "./load-bar.tsx";

const MAX_PROVIDERS = 20;

export const NoWorkers = () => (
  <Empty title="No worker has reported yet.">
    {isAdmin.value ? (
      <>
        <a href="#/fleet/~add">Add a worker</a>: that page makes its key, and the command to run beside Ollama, vLLM or
        any other runtime.
      </>
    ) : (
      <>
        Start one on any machine with <code>{npx(packageAt(location.origin))} worker</code>. It needs{" "}
        <code>SERVICE_API_URL={location.origin}</code> and, in <code>SERVICE_API_KEY</code>, a key of role worker, which
        an admin makes.
      </>
    )}
  </Empty>
);

const STATES = ["unavailable", "paused", "offline"] as const;

const COLUMNS: readonly Column[] = [
  { title: "Provider" },
  { title: "Workers", class: "num cell-wide" },
  { title: "Places taken" },
  { title: "Not working" },
];

const NotWorking = ({ of }: { of: ProviderFleet }) => {
  const found = STATES.filter((state) => of[state] > 0);
  if (found.length === 0) return <span class="dim">–</span>;
  return (
    <span class="fleet-states">
      {found.map((state) => (
        <a key={state} class="tone-caution" href={href(["fleet"], { provider: of.provider, state })}>
          {count(of[state])} {state}
        </a>
      ))}
    </span>
  );
};

export const FleetGlance = () => {
  if (!hasSnapshot.value) return <Loading what="the fleet" />;
  const all = fleet.value;
  if (all.length === 0) return <NoWorkers />;
  return (
    <>
      <Table name="The fleet by provider" columns={COLUMNS}>
        {all.slice(0, MAX_PROVIDERS).map((one) => (
          <tr key={one.provider}>
            <td class="cell-provider">
              <a href={href(["fleet"], { provider: one.provider })}>{one.provider}</a>
            </td>
            <td class="num cell-wide">{count(one.workers)}</td>
            <td>
              <LoadBar load={one.load} concurrency={one.places} />
            </td>
            <td>
              <NotWorking of={one} />
            </td>
          </tr>
        ))}
      </Table>
      {all.length > MAX_PROVIDERS && (
        <p>
          <a href="#/fleet?group=provider">and {plural(all.length - MAX_PROVIDERS, "provider")} more</a>
        </p>
      )}
    </>
  );
};
