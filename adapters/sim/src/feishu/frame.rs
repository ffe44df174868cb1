//! The long connection's binary frames: a protobuf message of nine fields, coded here by hand so that the simulator shares
//! no mistake with the adapter.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) seq_id: u64,
    pub(crate) log_id: u64,
    pub(crate) service: i32,
    pub(crate) method: i32,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) payload_encoding: Option<String>,
    pub(crate) payload_type: Option<String>,
    pub(crate) payload: Option<Vec<u8>>,
    pub(crate) log_id_new: Option<String>,
}

pub(crate) const CONTROL: i32 = 0;
pub(crate) const DATA: i32 = 1;

const VARINT: u64 = 0;
const BYTES: u64 = 2;

impl Frame {
    pub(crate) fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Required fields are written even when zero.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // A negative int32 is sign-extended to ten bytes.
        let numbers = [self.seq_id, self.log_id, i64::from(self.service) as u64, i64::from(self.method) as u64];
        for (field, number) in (1..).zip(numbers) {
            put_varint(&mut out, field << 3 | VARINT);
            put_varint(&mut out, number);
        }
        for (key, value) in &self.headers {
            let mut header = Vec::new();
            put_bytes(&mut header, 1, key.as_bytes());
            put_bytes(&mut header, 2, value.as_bytes());
            put_bytes(&mut out, 5, &header);
        }
        let texts = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
        for (field, bytes) in [
            (6, texts(&self.payload_encoding)),
            (7, texts(&self.payload_type)),
            (8, self.payload.clone()),
            (9, texts(&self.log_id_new)),
        ] {
            if let Some(bytes) = bytes {
                put_bytes(&mut out, field, &bytes);
            }
        }
        out
    }

    /// What is wrong with it, if it is no frame.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, &'static str> {
        let mut frame = Self::default();
        let mut seen = [false; 5];
        while !bytes.is_empty() {
            let tag = take_varint(&mut bytes)?;
            let field = usize::try_from(tag >> 3).map_err(|_| "a field number beyond all bounds")?;
            match (field, tag & 7) {
                (1..=4, VARINT) => {
                    let number = take_varint(&mut bytes)?;
                    seen[field] = true;
                    match field {
                        1 => frame.seq_id = number,
                        2 => frame.log_id = number,
                        3 => frame.service = number as i32,
                        _ => frame.method = number as i32,
                    }
                }
                (5, BYTES) => frame.headers.push(header(take_bytes(&mut bytes)?)?),
                (6, BYTES) => frame.payload_encoding = Some(text(take_bytes(&mut bytes)?)?),
                (7, BYTES) => frame.payload_type = Some(text(take_bytes(&mut bytes)?)?),
                (8, BYTES) => frame.payload = Some(take_bytes(&mut bytes)?.to_vec()),
                (9, BYTES) => frame.log_id_new = Some(text(take_bytes(&mut bytes)?)?),
                (1..=9, _) => return Err("a field of the wrong wire type"),
                (_, VARINT) => _ = take_varint(&mut bytes)?,
                (_, BYTES) => _ = take_bytes(&mut bytes)?,
                _ => return Err("an unknown wire type"),
            }
        }
        match seen[1..].iter().all(|seen| *seen) {
            true => Ok(frame),
            false => Err("a required field is missing: SeqID, LogID, service and method are written even when zero"),
        }
    }
}

fn header(mut bytes: &[u8]) -> Result<(String, String), &'static str> {
    let (mut key, mut value) = (None, None);
    while !bytes.is_empty() {
        match take_varint(&mut bytes)? {
            tag if tag == 1 << 3 | BYTES => key = Some(text(take_bytes(&mut bytes)?)?),
            tag if tag == 2 << 3 | BYTES => value = Some(text(take_bytes(&mut bytes)?)?),
            _ => return Err("an unknown field in a header"),
        }
    }
    key.zip(value).ok_or("a header without key or value")
}

fn text(bytes: &[u8]) -> Result<String, &'static str> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a string that is not UTF-8")
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | BYTES);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut number = 0u64;
    for place in 0..10 {
        let (&byte, rest) = bytes.split_first().ok_or("it ends inside a number")?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number of more than ten bytes")
}

fn take_bytes<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], &'static str> {
    let length = usize::try_from(take_varint(bytes)?).map_err(|_| "a length beyond all bounds")?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or("it ends inside a field")?;
    *bytes = rest;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn a_ping_has_the_bytes_of_the_official_clients() {
        let ping = Frame { service: 7, headers: vec![("type".into(), "ping".into())], ..Frame::default() };
        let short = bytes("08001000180720002a0c0a0474797065120470696e67");
        assert_eq!((ping.encode(), Frame::decode(&short)), (short, Ok(ping.clone())));
        let long = bytes("08001000180720002a0c0a0474797065120470696e6732003a004a00");
        let empty = || Some(String::new());
        let ping = Frame { payload_encoding: empty(), payload_type: empty(), log_id_new: empty(), ..ping };
        assert_eq!((ping.encode(), Frame::decode(&long)), (long, Ok(ping)));
    }

    #[test]
    fn ids_keep_all_their_bits_and_services_their_sign() {
        let frame = Frame { seq_id: u64::MAX, log_id: u64::MAX - 1, service: -7, method: DATA, ..Frame::default() };
        assert_eq!(Frame::decode(&frame.encode()), Ok(frame));
    }

    #[test]
    fn a_frame_without_its_zeros_or_cut_short_is_refused() {
        let ping = bytes("08001000180720002a0c0a0474797065120470696e67");
        assert!(Frame::decode(&ping[2..]).unwrap_err().starts_with("a required field is missing"));
        for end in (1..8).chain(9..ping.len()) {
            assert!(Frame::decode(&ping[..end]).is_err(), "{end} bytes");
        }
    }
}
