// What only a key that may change something sees: a viewer is shown no control that would be refused.

import type { ComponentChildren } from "preact";
import { mayOperate } from "../state/session.ts";

export const ForOperators = ({ children }: { children: ComponentChildren }): ComponentChildren =>
  mayOperate.value ? children : null;
