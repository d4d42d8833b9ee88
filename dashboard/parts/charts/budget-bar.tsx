// How much of a budget is spent, in words and as a bar.

import { usd, wholePercent } from "../../format.ts";

const CAUTION_FROM = 0.8;

export const BudgetBar = ({ name, spent, limit }: { name: string; spent: number; limit: number }) => {
  const share = limit === 0 ? 1 : spent / limit;
  const tone = share >= 1 ? "stop" : share >= CAUTION_FROM ? "caution" : "clear";
  const percent = share > 0 && share < 0.01 ? "under 1" : wholePercent(share);
  return (
    <div class="budget">
      <span>
        {name}: <strong class="num">{usd(spent)}</strong> of {usd(limit)} <span class="dim num">{percent}&nbsp;%</span>
      </span>
      <svg
        class="budget-bar"
        viewBox="0 0 100 12"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: ${percent} percent of the budget spent`}
      >
        <rect class={`budget-${tone}`} width={Math.min(1, share) * 100} height="12" />
      </svg>
    </div>
  );
};
