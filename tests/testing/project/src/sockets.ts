import { createConnectionStore, createPublisher } from "../../../../realtime/mod.ts";
import { getDb } from "./database.ts";

export const connections = createConnectionStore(getDb);
export const publisher = createPublisher({ connections, endpoint: () => "http://localhost:1" });
