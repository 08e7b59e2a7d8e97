fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let v = vec![1u8; n];
    println!("{}", v.len());
}
