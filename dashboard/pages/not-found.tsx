// An address that leads nowhere, or nowhere for this role.

import { Empty, Page } from "../parts/page.tsx";

export const NotFound = () => (
  <Page title="No such page">
    <Empty title="Nothing is kept at this address.">
      It may be mistyped, or your key's role may not see it. <a href="#/">Go to the overview</a>.
    </Empty>
  </Page>
);
