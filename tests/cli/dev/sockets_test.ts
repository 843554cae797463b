/** A WebSocket API of a project in `trellis dev`, with real clients. */
import { assertEquals } from "@std/assert";
import { SOCKET_PATH } from "../../../cli/dev/socket_paths.ts";
import { createTestProject, SERVED } from "./fixtures/project.ts";

const FILES = {
  "src/sockets.ts": `import { getDrizzleClient } from "@trellis/fn/database";
import { createConnectionStore, createConnectionTickets } from "@trellis/fn/realtime";
const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
export const connections = createConnectionStore(getDb);
export const tickets = createConnectionTickets(getDb);
`,
  "src/functions/api/ticket.post.ts": `import { buildValidatedResponse } from "@trellis/fn/core";
import { getDrizzleClient } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
import { SUBSCRIPTION_MIGRATION_SQL } from "@trellis/fn/realtime";
import { defineApiHandler } from "@trellis/fn/validation";
import { tickets } from "../../sockets.ts";
export const handler = defineApiHandler()(async ({ context }) => {
  const db = await getDrizzleClient({ provider: "embedded-pg" });
  for (const each of SUBSCRIPTION_MIGRATION_SQL.split("--> statement-breakpoint")) await db.execute(sql.raw(each));
  const session = { user: { id: "ada", email: "ada@example.com", emailVerified: true } };
  return buildValidatedResponse(context, 201, { ticket: await tickets.createConnectionTicket(session) });
});
`,
  "src/functions/websocket/$connect.ts":
    `import { defineWebSocketHandler } from "@trellis/fn/triggers";
import { connections, tickets } from "../../sockets.ts";
export const handler = defineWebSocketHandler({ auth: tickets })(async (params) => {
  if (params.eventType === "CONNECT") await connections.subscribe(params.connectionId, "user:" + params.userId);
});
`,
  "src/functions/websocket/who.ts": `import { defineWebSocketHandler } from "@trellis/fn/triggers";
import { connections } from "../../sockets.ts";
export const handler = defineWebSocketHandler()(async ({ connectionId }) => ({
  statusCode: 200, body: String(await connections.findTopics(connectionId, "user:")),
}));
`,
};

/** Connects, and resolves with the answer to a message; with "refused" if the handshake is refused. */
function ask(url: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url);
    let answer = "refused";
    socket.onopen = () => socket.send('{"action":"who"}');
    socket.onmessage = ({ data }) => {
      answer = String(data);
      socket.close();
    };
    socket.onerror = () => {};
    socket.onclose = () => resolve(answer);
  });
}

Deno.test(
  "startDevServer() lets a client with a ticket connect once, and refuses all others",
  SERVED,
  async () => {
    await using project = await createTestProject(FILES);
    const { url } = await project.start({}, {}, { functions: { Who: { twoWay: true } } });
    const socketUrl = `${url.replace("http", "ws")}${SOCKET_PATH}`;
    const response = await fetch(`${url}/ticket`, { method: "POST" });
    const { ticket } = await response.json();
    const asked: string[] = [];
    for (
      const query of [
        "",
        `?ticket=wst_${"A".repeat(43)}`,
        `?ticket=${ticket}`,
        `?ticket=${ticket}`,
      ]
    ) asked.push(await ask(`${socketUrl}${query}`));
    assertEquals(asked, ["refused", "refused", "user:ada", "refused"]);
    const told = [...project.told().matchAll(/ (\d+) {2}Connect ← \$connect/g)];
    assertEquals(told.map(([, status]) => status), ["401", "401", "200", "401"]);
  },
);
