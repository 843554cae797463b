import { getDrizzleClient } from "../../../../database/mod.ts";

// must not be opened: the test client leads every configuration to its own database
export const getDb = () =>
  getDrizzleClient({ provider: "embedded-pg", connectionString: "/dev/null/pg" });
