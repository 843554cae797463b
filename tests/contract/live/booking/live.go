// Calls the booking example with the generated client: live <url> <token>
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func check(isRight bool, what any) {
	if !isRight {
		panic(what)
	}
}

func main() {
	settings := client.NewConfiguration()
	settings.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	api := client.NewAPIClient(settings)
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, os.Args[2])
	newKey := func() string { return fmt.Sprintf("go-%d", time.Now().UnixNano()) }

	room, _, err := api.RoomsAPI.PostRoom(ctx).RoomInput(*client.NewRoomInput(newKey())).Execute()
	check(err == nil, err)
	found, _, err := api.RoomsAPI.GetRoom(ctx, room.Id).Execute()
	check(err == nil && found.Name == room.Name, err)
	form, _, err := api.RoomsAPI.PostPhoto(ctx, room.Id).PostPhotoRequest(*client.NewPostPhotoRequest("image/png")).Execute()
	check(err == nil && form.Fields["Content-Type"] == "image/png", err)
	stay := *client.NewBookingInput(room.Id, "2101-01-01", "2101-01-03")
	booking, _, err := api.BookingsAPI.PostBooking(ctx).BookingInput(stay).IdempotencyKey(newKey()).Execute()
	check(err == nil && string(booking.Status) == "requested", err)
	_, response, err := api.BookingsAPI.PostBooking(ctx).BookingInput(stay).IdempotencyKey(newKey()).Execute()
	check(response.StatusCode == 409, err)
	failure := err.(*client.GenericOpenAPIError).Model().(client.ApiError)
	check(failure.Code == "UNIQUE_VIOLATION", failure)
	_, err = api.BookingsAPI.RemoveBooking(ctx, booking.Id).Execute()
	check(err == nil, err)
	fmt.Println("called")
}
