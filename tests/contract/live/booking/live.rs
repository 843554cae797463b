//! Calls the booking example with the generated client: live <url> <token>
use openapi::apis::{Error, bookings_api, configuration::Configuration, rooms_api};
use openapi::models;
use std::time::{SystemTime, UNIX_EPOCH};

fn new_key() -> String {
    format!("rust-{}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos())
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut api = Configuration::new();
    api.base_path = args[1].clone();
    api.bearer_access_token = Some(args[2].clone());

    let room = rooms_api::post_room(&api, models::RoomInput::new(new_key())).await.unwrap();
    let id = room.id.to_string();
    assert_eq!(rooms_api::get_room(&api, &id).await.unwrap().name, room.name);
    let photo = models::PostPhotoRequest::new("image/png".into());
    let form = rooms_api::post_photo(&api, &id, photo).await.unwrap();
    assert_eq!(form.fields["Content-Type"], "image/png");
    let stay = models::BookingInput::new(room.id, "2101-01-01".parse().unwrap(), "2101-01-03".parse().unwrap());
    let key = new_key();
    let booking = bookings_api::post_booking(&api, stay.clone(), Some(&key)).await.unwrap();
    assert_eq!(booking.status, models::BookingStatus::Requested);
    let key = new_key();
    match bookings_api::post_booking(&api, stay, Some(&key)).await {
        Err(Error::ResponseError(error)) => assert_eq!(error.status.as_u16(), 409),
        other => panic!("the nights are taken: {other:?}"),
    }
    bookings_api::remove_booking(&api, &booking.id.to_string()).await.unwrap();
    println!("called");
}
