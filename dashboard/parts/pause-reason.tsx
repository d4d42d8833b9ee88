// The reason for a pause, which is shown beside the paused worker.

import { TextField } from "./form.tsx";

export const PauseReason = ({ value, onInput }: { value: string; onInput: (value: string) => void }) => (
  <TextField label="Reason" value={value} onInput={onInput} placeholder="shown as the reason for the pause" autoFocus />
);
