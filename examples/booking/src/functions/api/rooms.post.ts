import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../auth.ts";
import { createRoom } from "../../queries/rooms.ts";
import { Room, RoomInput } from "../../schemas.ts";

export const handler = defineApiHandler({
  auth: session({ roles: ["admin"] }),
  schema: RoomInput,
  responses: { 201: Room },
  openapi: { summary: "Add a room", tags: ["rooms"] },
})(async function postRoom({ body }) {
  const room = await createRoom(body);
  return reply(201, room, { headers: { Location: `/rooms/${room.id}` } });
});
