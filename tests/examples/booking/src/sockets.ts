import { getDrizzleClient } from "@trellis/fn/database";
import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import { createConnectionStore, createPublisher } from "@trellis/fn/realtime";

const getDb = () =>
  getDrizzleClient({ provider: "embedded-pg", connectionString: getOptionalEnv("DATABASE_URL") });

export const connections = createConnectionStore(getDb);
export const publisher = createPublisher({
  connections,
  endpoint: () => getRequiredEnv("SOCKET_URL"),
});
