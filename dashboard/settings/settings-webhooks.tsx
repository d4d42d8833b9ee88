// Webhooks: the endpoints, why one is disabled, and its deliveries.

import { useState } from "preact/hooks";
import type { WebhookResource, WebhookWithSecret } from "../../contract/webhook.ts";
import { api } from "../api.ts";
import { Empty, LoadState, Panel } from "../parts/page.tsx";
import { WebhookStatus } from "../parts/status.tsx";
import { Tags } from "../parts/tags.tsx";
import { Time } from "../parts/time.tsx";
import { place, refine } from "../router.ts";
import { useLoad, useRounds } from "../state/load.ts";
import { attempt } from "../state/notice.ts";
import { answerOf, Deliveries, LOOK_MS } from "./deliveries.tsx";
import { SecretDialog } from "./secret-dialog.tsx";
import { SettingsPage } from "./settings-tabs.tsx";
import { RemoveWebhookDialog, RotateWebhookDialog, WebhookDialog } from "./webhook-dialogs.tsx";

type Open = { kind: "create" } | { kind: "edit" | "rotate" | "remove"; webhook: WebhookResource };

interface ItemProps {
  webhook: WebhookResource;
  onOpen: (open: Open) => void;
  onDone: () => void;
}

const Actions = ({ webhook, onOpen, onDone, onTested }: ItemProps & { onTested: () => void }) => {
  const isShown = place.value.query.get("webhook") === webhook.id;
  const test = async (): Promise<void> => {
    await attempt(
      `test ${webhook.id}`,
      () => api.webhooks.test(webhook.id),
      "A test was sent: its delivery shows the answer.",
    );
    refine({ webhook: webhook.id, offset: null });
    onTested();
  };
  const enable = async (): Promise<void> => {
    await attempt(`enable ${webhook.id}`, () => api.webhooks.edit(webhook.id, { enabled: true }), "Enabled again.");
    onDone();
  };
  return (
    <span class="actions">
      <button
        type="button"
        class="button small"
        aria-expanded={isShown}
        aria-label={`Deliveries to ${webhook.url}`}
        onClick={() => refine({ webhook: isShown ? null : webhook.id, offset: null })}
      >
        Deliveries
      </button>
      {webhook.enabled ? (
        <button type="button" class="button small" aria-label={`Test ${webhook.url}`} onClick={test}>
          Test
        </button>
      ) : (
        <button type="button" class="button small primary" aria-label={`Enable ${webhook.url}`} onClick={enable}>
          Enable
        </button>
      )}
      {(
        [
          ["edit", "Edit"],
          ["rotate", "Rotate"],
          ["remove", "Delete"],
        ] as const
      ).map(([kind, label]) => (
        <button
          key={kind}
          type="button"
          class={`button small${kind === "remove" ? " danger" : ""}`}
          aria-label={`${label} ${webhook.url}`}
          onClick={() => onOpen({ kind, webhook })}
        >
          {label}
        </button>
      ))}
    </span>
  );
};

const LOOKED_AT = 20;

/** Why it fails: what the endpoint answered to the newest delivery that it did not take. */
const LastAnswer = ({ id, version }: { id: string; version: string }) => {
  const { data } = useLoad(`${id} ${version}`, (signal) =>
    api.webhooks.deliveries(id, { limit: LOOKED_AT }, { signal }),
  );
  const failed = data?.deliveries.find((delivery) => delivery.status !== "delivered" && answerOf(delivery) !== "");
  if (failed === undefined) return null;
  return (
    <p>
      <span class="dim">Last answer:</span> {answerOf(failed)}
    </p>
  );
};

const Item = (props: ItemProps) => {
  const { webhook } = props;
  const [version, setVersion] = useState(0);
  return (
    <Panel
      title={<span class="webhook-url">{webhook.url}</span>}
      aside={<Actions {...props} onTested={() => setVersion(version + 1)} />}
      class={webhook.enabled ? "" : "panel-stop"}
    >
      <div class="stack webhook-facts">
        <WebhookStatus webhook={webhook} />
        {webhook.description !== null && <span>{webhook.description}</span>}
        {webhook.disabled_reason !== null && (
          <p class="tone-stop">
            Disabled <Time at={webhook.disabled_at} />: {webhook.disabled_reason}
          </p>
        )}
        {webhook.enabled && webhook.failing_since !== null && (
          <p class="tone-caution">
            Failing since <Time at={webhook.failing_since} as="full" />; it is disabled after five days.
          </p>
        )}
        {webhook.failing_since !== null && (
          <LastAnswer id={webhook.id} version={`${webhook.failing_since} ${version}`} />
        )}
        <Tags tags={webhook.events} max={12} />
        {webhook.tags.length > 0 && (
          <span>
            <span class="dim">Jobs with</span> <Tags tags={webhook.tags} max={12} />
          </span>
        )}
      </div>
      {place.value.query.get("webhook") === webhook.id && <Deliveries id={webhook.id} version={version} />}
    </Panel>
  );
};

export const SettingsWebhooks = () => {
  const [open, setOpen] = useState<Open | null>(null);
  const [made, setMade] = useState<WebhookWithSecret | null>(null);
  const round = useRounds(LOOK_MS);
  const { data, error, reload } = useLoad(`webhooks ${round}`, (signal) => api.webhooks.list({ signal }));
  const close = () => setOpen(null);
  return (
    <SettingsPage
      actions={
        <button type="button" class="button primary" onClick={() => setOpen({ kind: "create" })}>
          New webhook
        </button>
      }
    >
      <LoadState data={data} error={error} retry={reload} what="the webhooks" />
      {data?.webhooks.length === 0 && (
        <Empty title="No webhook yet.">
          An endpoint gets signed events, such as a finished job, a lost worker or a reached budget. Each is repeated
          until it answers.
        </Empty>
      )}
      <div class="stack-panels">
        {data?.webhooks.map((webhook) => (
          <Item key={webhook.id} webhook={webhook} onOpen={setOpen} onDone={reload} />
        ))}
      </div>
      {(open?.kind === "create" || open?.kind === "edit") && (
        <WebhookDialog
          webhook={open.kind === "edit" ? open.webhook : null}
          onMade={setMade}
          onDone={reload}
          onClose={close}
        />
      )}
      {open?.kind === "rotate" && <RotateWebhookDialog webhook={open.webhook} onMade={setMade} onClose={close} />}
      {open?.kind === "remove" && <RemoveWebhookDialog webhook={open.webhook} onDone={reload} onClose={close} />}
      {made !== null && (
        <SecretDialog
          title="The webhook's secret"
          secret={made.secret}
          note="The endpoint checks each delivery's signature with it."
          onClose={() => setMade(null)}
        />
      )}
    </SettingsPage>
  );
};
