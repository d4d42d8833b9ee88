// Playground: chat with a model of the fleet, see each answer's usage, and copy the request as code.

import { useLayoutEffect, useState } from "preact/hooks";
import type { ChatMessage, ChatRequest } from "../../contract/client/front-door.ts";
import { api } from "../api.ts";
import { count, duration, usd } from "../format.ts";
import { Choice, SelectField, TextField } from "../parts/form.tsx";
import { Empty, LoadState, Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { RenderedText } from "../parts/rendered-text.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { href, place, refine } from "../router.ts";
import { useDraft } from "../state/drafts.ts";
import { useLoad } from "../state/load.ts";
import { isAdmin } from "../state/session.ts";
import {
  beginAgain,
  type ChatTurn,
  chatError,
  isTalking,
  stopTalking,
  type Taken,
  takeKeptTurns,
  talk,
  turns,
} from "./chat.ts";
import { SAMPLES, type Sample, sampleOf } from "./code-samples.ts";

const perSecond = ({ tokens, firstTokenMs, totalMs }: Taken): string | null => {
  if (tokens === null || firstTokenMs === null || totalMs === null || totalMs <= firstTokenMs) return null;
  return `${count(Math.round((tokens / (totalMs - firstTokenMs)) * 1000))} tokens/s`;
};

const costInWords = (costUsd: Taken["costUsd"]): string | null => {
  if (costUsd === undefined) return null;
  return costUsd === null ? "price unknown" : usd(costUsd);
};

const TakenLine = ({ taken }: { taken: Taken }) => (
  <p class="taken dim num">
    {taken.worker !== null && <a href={href(["fleet", taken.worker])}>{taken.worker}</a>}
    {taken.firstTokenMs !== null && <span>first token {duration(taken.firstTokenMs)}</span>}
    {perSecond(taken) !== null && <span>{perSecond(taken)}</span>}
    {taken.tokens !== null && <span>{count(taken.tokens)} tokens</span>}
    {costInWords(taken.costUsd) !== null && <span>{costInWords(taken.costUsd)}</span>}
    {taken.job !== null && <a href={href(["jobs", taken.job])}>job</a>}
  </p>
);

const Said = ({ turn, isLast }: { turn: ChatTurn; isLast: boolean }) => (
  <li class={`turn turn-${turn.role}`}>
    <p class="turn-who">{turn.role === "user" ? "You" : "Model"}</p>
    {turn.content === "" && isLast ? (
      <p class="dim">Waiting for the first token …</p>
    ) : (
      <RenderedText text={turn.content} />
    )}
    {turn.taken !== undefined && <TakenLine taken={turn.taken} />}
  </li>
);

interface Wishes {
  readonly system: string;
  readonly temperature: string;
  readonly tags: string;
}

const requestOf = (model: string, wishes: Wishes, said: string): ChatRequest => {
  const before: ChatMessage[] = turns.value
    .filter(({ content }) => content !== "")
    .map(({ role, content }) => ({ role, content }));
  const system: ChatMessage[] = wishes.system.trim() === "" ? [] : [{ role: "system", content: wishes.system.trim() }];
  return {
    model,
    messages: [...system, ...before, { role: "user", content: said }],
    ...(wishes.temperature.trim() === "" ? {} : { temperature: Number(wishes.temperature) }),
    stream: true,
  };
};

const AsCode = ({ request, tags }: { request: ChatRequest; tags: string }) => {
  const [sample, setSample] = useState<Sample>("curl");
  return (
    <Panel title="The same as code">
      <Choice label="Language" value={sample} options={SAMPLES.map((one) => [one, one] as const)} onInput={setSample} />
      <TextBlock name={`Request as ${sample}`} value={sampleOf(sample, { origin: location.origin, request, tags })} />
    </Panel>
  );
};

interface TalkProps {
  said: string;
  setSaid: (text: string) => void;
  canSend: boolean;
  onSend: () => void;
}

const Talk = ({ said, setSaid, canSend, onSend }: TalkProps) => (
  <form
    onSubmit={(event) => {
      event.preventDefault();
      onSend();
    }}
    onKeyDown={(event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSend();
    }}
  >
    <TextField label="Say" rows={3} value={said} onInput={setSaid} hint="Ctrl and Enter sends it." />
    <div class="actions">
      <button type="submit" class="button primary" disabled={isTalking.value || !canSend || said.trim() === ""}>
        Send
      </button>
      {isTalking.value && (
        <button type="button" class="button" onClick={stopTalking}>
          Stop
        </button>
      )}
      {turns.value.length > 0 && (
        <button type="button" class="button quiet" data-forgets onClick={beginAgain}>
          Begin again
        </button>
      )}
    </div>
  </form>
);

const NO_WISHES: Wishes = { system: "", temperature: "", tags: "" };

const Ready = ({ models }: { models: readonly { id: string; owned_by: string }[] }) => {
  const named = place.value.query.get("model");
  const model = models.find(({ id }) => id === named)?.id ?? models[0]?.id ?? "";
  const [said, setSaid] = useDraft("playground: said", "");
  const [wishes, setWishes] = useDraft<Wishes>("playground: wishes", NO_WISHES);
  useLayoutEffect(takeKeptTurns, []);
  const change = (changes: Partial<Wishes>) => setWishes((before) => ({ ...before, ...changes }));
  const temperatureError = Number.isNaN(Number(wishes.temperature)) ? "Not a number" : null;
  const request = requestOf(model, wishes, said.trim() === "" ? "Hello" : said);
  const send = (): void => {
    if (said.trim() === "" || isTalking.value || temperatureError !== null) return;
    void talk({ ...request, stream_options: { include_usage: true } }, said, wishes.tags.trim());
    setSaid("");
  };
  return (
    <div class="split split-wide">
      <Panel title={model}>
        {turns.value.length === 0 && <Empty title="Say something." />}
        {/* An answer is announced when it is complete, not with each of its words. */}
        <ol class="turns" aria-live="polite" aria-busy={isTalking.value}>
          {turns.value.map((turn, index) => (
            <Said key={index} turn={turn} isLast={index === turns.value.length - 1} />
          ))}
        </ol>
        <Problem error={chatError.value} />
        <Talk said={said} setSaid={setSaid} canSend={temperatureError === null} onSend={send} />
      </Panel>
      <div class="stack-panels">
        <Panel title="Asks for">
          <SelectField
            label="Model"
            value={model}
            options={models.map(({ id, owned_by }) => [id, `${id} · ${owned_by}`] as const)}
            onInput={(next) => refine({ model: next })}
          />
          <TextField label="System" rows={2} value={wishes.system} onInput={(system) => change({ system })} />
          <div class="field-row">
            <TextField
              label="Temperature"
              value={wishes.temperature}
              error={temperatureError}
              onInput={(temperature) => change({ temperature })}
              placeholder="default"
            />
            <TextField label="Tags" value={wishes.tags} onInput={(tags) => change({ tags })} placeholder="gpu, eu" />
          </div>
        </Panel>
        <AsCode request={request} tags={wishes.tags.trim()} />
      </div>
    </div>
  );
};

export const Playground = () => {
  const { data, error, reload } = useLoad("models", (signal) => api.frontDoor.models({ signal }));
  return (
    <Page title="Playground" lead="Chat with a model of the fleet, through the API that AI clients use.">
      <LoadState data={data} error={error} retry={reload} what="the models" />
      {data?.data.length === 0 && (
        <Empty title="The fleet offers no model.">
          A worker whose runtime has one of the AI APIs offers its models here.
          {isAdmin.value && (
            <>
              {" "}
              <a href="#/fleet/~add">Add a worker</a>.
            </>
          )}
        </Empty>
      )}
      {data !== null && data.data.length > 0 && <Ready models={data.data} />}
    </Page>
  );
};
