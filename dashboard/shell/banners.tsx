// Banners over every page: the killswitch is engaged; the page is not live; a person's session ends soon.

import { useState } from "preact/hooks";
import type { KillswitchResource } from "../../contract/killswitch.ts";
import { printable } from "../../contract/text/printable.ts";
import { MAX_UNCONFIRMED } from "../../contract/words/values.ts";
import { clock, count, plural } from "../format.ts";
import { ForOperators } from "../parts/for-operators.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { fleetSum, killswitch } from "../state/board.ts";
import { needsPersonBy, startAddress } from "../state/identity.ts";
import { connection, heardAt, reconnect } from "../state/live.ts";
import { session } from "../state/session.ts";
import { ClearDialog, EngageDialog } from "./killswitch-dialog.tsx";
import { levelName } from "./killswitch-levels.ts";

/** Offline workers cannot confirm, and stand last in a list that may be cut: then the fleet says how many they are. */
const offlineIn = ({ unconfirmed }: KillswitchResource): number =>
  unconfirmed.length < MAX_UNCONFIRMED
    ? unconfirmed.filter(({ status }) => status === "offline").length
    : fleetSum(({ offline }) => offline);

const unconfirmedInWords = (state: KillswitchResource): string | null => {
  const awaited = Math.max(0, state.workers_to_confirm - state.confirmed_workers);
  const offline = offlineIn(state);
  if (awaited + offline === 0) return null;
  return `${count(awaited + offline)} not confirmed${offline === 0 ? "" : `, ${count(offline)} of them offline`}`;
};

export const KillswitchBanner = () => {
  const [open, setOpen] = useState<"clear" | "change" | null>(null);
  const state = killswitch.value;
  if (state === null || !state.active) return null;
  const unconfirmed = unconfirmedInWords(state);
  const isAwaited = state.confirmed_workers < state.workers_to_confirm;
  return (
    <section class="halt" aria-label="Killswitch">
      <div class="halt-says">
        <div role="alert">
          <p class="halt-title">
            Line stopped: level {state.level}, {levelName(state.level).toLowerCase()}
          </p>
          {state.reason && <p>“{printable(state.reason)}”</p>}
        </div>
        {/* Outside the alert, which would be announced again with each second. */}
        <p>
          {state.activated_by}, <Time at={state.activated_at} />
        </p>
      </div>
      {/* Announced when all have confirmed, not with each of them. */}
      <p class="halt-count" role="status" aria-busy={isAwaited}>
        <strong class="num">
          {count(state.confirmed_workers)} of {count(Math.max(state.workers_to_confirm, state.confirmed_workers))}
        </strong>{" "}
        workers have confirmed the halt
        {unconfirmed !== null && <a href={href(["fleet"], { state: "unconfirmed" })}>{unconfirmed}</a>}
        <span>{plural(state.halted_jobs, "job")} halted</span>
      </p>
      <ForOperators>
        <div class="actions">
          <button type="button" class="button" onClick={() => setOpen("change")}>
            Change level
          </button>
          <button type="button" class="button clear-line" onClick={() => setOpen("clear")}>
            Clear …
          </button>
        </div>
      </ForOperators>
      {open === "clear" && <ClearDialog onClose={() => setOpen(null)} />}
      {open === "change" && <EngageDialog onClose={() => setOpen(null)} />}
    </section>
  );
};

export const ConnectionBanner = () => {
  if (connection.value !== "lost") return null;
  return (
    <div class="lost" role="alert">
      <p>
        <strong>Connection lost.</strong>{" "}
        {heardAt.value === null ? "No data has arrived yet." : `You see the state of ${clock(heardAt.value)}.`} Trying
        again by itself.
      </p>
      <button type="button" class="button small" onClick={reconnect}>
        Connect now
      </button>
    </div>
  );
};

export const SessionBanner = () => {
  const endsAt = needsPersonBy.value;
  if (endsAt === null) return null;
  return (
    <div class="lost ends-soon" role="status">
      <p>
        <strong>Your session ends at {clock(Date.parse(endsAt))}.</strong> Your identity provider asks you to sign in
        again.
      </p>
      <a class="button small" href={startAddress(session.value?.tenant ?? "")}>
        Sign in again
      </a>
    </div>
  );
};
