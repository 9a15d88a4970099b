import { describeStoreContract } from "../../runtime/store-contract/store-contract.ts";
import { temporaryHome } from "./temporary-home.ts";

describeStoreContract("SQLite", async () => {
  const { open, dispose } = temporaryHome();
  let store = await open();
  return {
    store,
    dispose,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
  };
});
