mod rtl;
#[test]
fn builds() {
    let (top, files) = rtl::sources();
    let t = std::time::Instant::now();
    let lib = rtl::build(&top, &files);
    eprintln!("build {:?}", t.elapsed());
    let mut r = rtl::Rtl::new(&lib, 1);
    let mut i = rtl::Inputs { rst: true, ..Default::default() };
    r.clock(&i);
    i.rst = false;
    for _ in 0..20 { eprintln!("{:?}", r.clock(&i).idle); }
}
